"""Two forwards are compared bit by bit."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from modellint.catalog import ActiveRule
from modellint.static.context import FileContext, Finding
from modellint.static.guards import assignments
from modellint.static.origins import Origin
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import last_name

_KEEPS = frozenset(
    "detach cpu numpy float double half to cuda clone squeeze unsqueeze flatten view reshape contiguous".split()
)
_OUTPUTS = frozenset({"logits", "last_hidden_state", "pooler_output", "sample", "data", "T", "out", "features"})
_WHOLE = frozenset({"all", "any", "sum", "mean"})
MAX_DEPTH = 12


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report comparisons without a tolerance of what two forwards returned.

    Options: `exact` are functions that compare exactly, `tolerant` functions that do so when the argument `atol` is 0
    (and `rtol`, where it is given), each with the position of `atol`.
    """
    options = rule.rule.detector_options
    for scope in context.scopes:
        for call in scope.calls:
            pair = _compared(context, scope, call, options)
            if len(pair) == 2 and _are_two_forwards(context, scope, pair):
                yield Finding(context.site(call), {"left": ast.unparse(pair[0]), "right": ast.unparse(pair[1])})


def _compared(
    context: FileContext, scope: FunctionInfo, call: ast.Call, options: Mapping[str, Any]
) -> Sequence[ast.expr]:
    """Return the two values that a call compares exactly; nothing where it does not."""
    func = call.func
    if len(call.args) > 1:
        name = context.qualified(scope, func)
        if name in options["exact"] or (name in options["tolerant"] and _is_exact(call)):
            return call.args[:2]
    elif isinstance(func, ast.Attribute) and len(call.args) == 1:
        if func.attr == "equal" or (func.attr == "allclose" and _is_exact(call)):
            if context.qualified(scope, func) is None:
                return func.value, call.args[0]
    if last_name(func) in _WHOLE:  # `(a == b).all()`, `torch.all(a == b)`
        owner = func.value if isinstance(func, ast.Attribute) else None
        compared = next((n for n in (owner, *call.args[:1]) if isinstance(n, ast.Compare)), None)
        if compared is not None and len(compared.ops) == 1 and isinstance(compared.ops[0], (ast.Eq, ast.NotEq)):
            return compared.left, compared.comparators[0]
    return ()


def _is_exact(call: ast.Call) -> bool:
    """Tell whether `atol` is 0 and `rtol`, if it is given, too."""
    given = {k.arg: k.value for k in call.keywords}
    atol, rtol = given.get("atol"), given.get("rtol")
    return _is_zero(atol) and (rtol is None or _is_zero(rtol))


def _is_zero(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0 and node.value is not False


def _are_two_forwards(context: FileContext, scope: FunctionInfo, pair: Sequence[ast.expr]) -> bool:
    left, right = (_forwards(context, Origin(node, scope), 0) for node in pair)
    return bool(left) and bool(right) and left.isdisjoint(right)


def _forwards(context: FileContext, origin: Origin, depth: int) -> set[int]:
    """Return the forwards whose results a value holds unchanged; empty where it may be something else."""
    node = origin.node
    if node is None or depth > MAX_DEPTH:
        return set()
    if isinstance(node, ast.Call):
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in _KEEPS:
            return _forwards(context, origin.at(func.value), depth + 1)
        plain = isinstance(func, ast.Name) or (isinstance(func, ast.Attribute) and not _makes_labels(func.attr))
        if plain and bool(node.args or node.keywords) and context.is_forward(node):
            return {id(node)}
        inner = [one for one in context.resolver.origins(origin) if one.node is not node]
        return _all_of(context, inner, depth)
    if isinstance(node, ast.Attribute) and node.attr in _OUTPUTS:
        return _forwards(context, origin.at(node.value), depth + 1)
    if isinstance(node, ast.Subscript):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(key, str) and key not in _OUTPUTS:
            return set()  # a mask, labels, positions
        return _forwards(context, origin.at(node.value), depth + 1)
    if isinstance(node, ast.Name):
        found = [one for one in context.resolver.origins(origin) if one.symbol is None]
        if not found:  # `hidden = model(x).last_hidden_state`: what an attribute of a result is, nothing in sight tells
            given = [value for name, value in assignments(origin.scope) if name == node.id]
            found = [origin.at(given[0])] if len(given) == 1 else []
        return _all_of(context, [one.at(one.node) for one in found], depth)
    return set()


def _all_of(context: FileContext, found: list[Origin], depth: int) -> set[int]:
    results = [_forwards(context, one, depth + 1) for one in found]
    return set().union(*results) if results and all(results) else set()


def _makes_labels(name: str) -> bool:
    """Tell whether a method returns labels, tokens or text, which compare exactly."""
    return name.startswith(
        ("predict", "generate", "classif", "detect", "transcri", "translat", "act", "sample", "decode")
    )
