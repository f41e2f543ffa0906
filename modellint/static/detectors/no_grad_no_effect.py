"""A context manager that switches autograd is made and thrown away, or entered without being made."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modellint.catalog import ActiveRule
from modellint.static.context import FileContext, Finding
from modellint.static.guards import alone, assignments, own
from modellint.static.project import FunctionInfo
from modellint.static.project.trees import walk


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report autograd switches as bare statements or unread variables, and `with` blocks that name the class."""
    for scope in context.scopes:
        for statement in scope.statements:
            if isinstance(statement, ast.Expr):
                for node in alone(statement):
                    bare = node.func if isinstance(node, ast.Call) else node
                    if isinstance(node, ast.Call) and node.args and not isinstance(node.args[0], ast.Constant):
                        continue  # `torch.no_grad(f)` decorates f
                    if _switches(context, scope, bare) and isinstance(bare, (ast.Attribute, ast.Name)):
                        yield Finding(context.site(node), {"written": ast.unparse(node)})
            else:
                for item in statement.items:
                    node = item.context_expr
                    if isinstance(node, (ast.Attribute, ast.Name)) and _switches(context, scope, node):
                        yield Finding(context.site(node), {"written": f"with {ast.unparse(node)}"})
        calls = [(name, value) for name, value in assignments(scope) if isinstance(value, ast.Call) and not value.args]
        for name, value in _never_read(scope, [call for call in calls if _switches(context, scope, call[1].func)]):
            yield Finding(context.site(value), {"written": f"{name} = {ast.unparse(value)}"})


def _never_read(scope: FunctionInfo, given: list[tuple[str, ast.Call]]) -> Iterator[tuple[str, ast.Call]]:
    """Yield those of the variables `given`, with their values, that nothing in a function reads."""
    if scope.node is not None and given:  # equivalent: saves the walk
        read = {n.id for n in walk(scope.node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)}
        shared = {n for s in own(scope, ast.Global, ast.Nonlocal) for n in s.names}
        yield from ((name, value) for name, value in given if name not in read | shared)


def _switches(context: FileContext, scope: FunctionInfo, node: ast.expr) -> bool:
    name = context.qualified(scope, node)
    fact = context.knowledge.contexts.get(name) if name else None
    return fact is not None and fact.effect.grad != "same" and not fact.immediate
