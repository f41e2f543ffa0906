"""A method that switches the mode is mentioned as a statement, not called, or entered like a context manager."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator

from modellint.catalog import ActiveRule
from modellint.static.context import FileContext, Finding
from modellint.static.flow.events import MODE_ENTERED
from modellint.static.guards import alone, own, values_of
from modellint.static.naming import MOVES
from modellint.static.project import FunctionInfo
from modellint.static.project.names import last_name
from modellint.static.sites import places


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report statements that are nothing but an attribute named in the option `methods` of the detector."""
    methods = rule.rule.detector_options["methods"]
    entered = False
    for scope in context.scopes:
        for statement in scope.statements:
            if isinstance(statement, ast.Expr):
                attributes = [node for node in alone(statement) if isinstance(node, ast.Attribute)]
                for attribute in attributes:
                    if attribute.attr in methods and not _of_other_library(context, scope, attribute.value):
                        yield Finding(context.site(attribute), {"written": ast.unparse(attribute)})
            else:
                entered = entered or any(last_name(i.context_expr) in methods for i in statement.items)
        for attribute in _kept_as_model(scope, methods):
            yield Finding(context.site(attribute), {"written": ast.unparse(attribute)})
    if entered:  # equivalent: spares the flow analysis
        yield from _entered(context)


def _kept_as_model(scope: FunctionInfo, methods: Container[str]) -> Iterator[ast.Attribute]:
    """Yield the methods that a variable gets in the place of the model: `net = Net().to(device).eval`."""
    for node in own(scope, ast.Assign):
        method = node.value
        if isinstance(method, ast.Attribute) and method.attr in methods and isinstance(method.value, ast.Call):
            moved = method.value.func
            if isinstance(moved, ast.Attribute) and moved.attr in MOVES:
                yield method


def _entered(context: FileContext) -> Iterator[Finding]:
    """Report modules whose mode switch stands in a `with`, of which the flow analysis knows that they are modules."""
    for place in places(context, MODE_ENTERED):
        if not place.outside:
            text = place.events[0].text
            message = f"`with {text}` raises an error: {text} returns the model, which is no context manager"
            yield Finding(place.site, message=message)


def _of_other_library(context: FileContext, scope: FunctionInfo, owner: ast.expr) -> bool:
    """Tell whether `owner` is a variable that a library without models made: a data frame has an `eval`, too."""
    if not isinstance(owner, ast.Name):
        return False
    made = [value.func for value in values_of(scope, owner.id) if isinstance(value, ast.Call)]
    for callee in made:
        symbol = context.project.resolve_in(scope, callee)
        if symbol is None or symbol.target is not None or context.knowledge.is_library(symbol.dotted):
            return False
    return bool(made)
