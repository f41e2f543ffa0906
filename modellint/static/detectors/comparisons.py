"""Comparisons that allow no difference: `torch.equal(a, b)`, `(a == b).all()`, `(a - b).abs().max() == 0`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from modellint.static.context import FileContext
from modellint.static.guards import assignments, own, path_to
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import called_name, last_name

_MAY_COMPARE = re.compile(r"equal|close|same|compare")
"""Names of functions that may compare: of these, what they are is asked."""
_WHOLE = frozenset({"all", "any", "sum", "mean"})
_SAME, _DIFFERENT = frozenset({"eq", "equal"}), frozenset({"ne", "not_equal"})
_SIZES = frozenset(
    "abs absolute max amax sum mean norm vector_norm item any square pow cpu numpy detach float double flatten".split()
)
"""What makes one number of a difference, and keeps a zero where there is none."""
_DISTANCES = frozenset({"dist", "mse_loss", "l1_loss"})
_SETTLES = {ast.Eq: True, ast.LtE: True, ast.NotEq: False, ast.Gt: False}
"""Comparisons with zero that ask for no difference at all, with whether they hold where there is none."""
MAX_STEPS = 12


class Comparison(NamedTuple):
    """`left` and `right` are compared at `node`, which is true where they are the same, or where they are not."""

    node: ast.expr
    left: ast.expr
    right: ast.expr
    same: bool


def comparisons(context: FileContext, scope: FunctionInfo, options: Mapping[str, Any]) -> Iterator[Comparison]:
    """Yield the exact comparisons of a function; not those that say that two values have to differ."""
    for node in own(scope, ast.Call, ast.Compare):
        found = None
        if isinstance(node, ast.Call):
            found = _called(context, scope, node, options)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and _is_zero(node.comparators[0]):
            same = _SETTLES.get(type(node.ops[0]))
            pair = _difference(scope, node.left, 0) if same is not None else None
            found = Comparison(node, *pair, same) if pair is not None and same is not None else None
        if found is not None and not _wants_difference(scope, found):
            yield found


def _called(context: FileContext, scope: FunctionInfo, call: ast.Call, options: Mapping[str, Any]) -> Comparison | None:
    func = call.func
    last = called_name(context.module, call)
    if last is not None and call.args and _MAY_COMPARE.search(last):
        name = context.qualified(scope, func)
        if name in options["exact"] or (name in options["tolerant"] and _is_exact(call, 2)):
            return Comparison(call, call.args[0], call.args[1], True) if len(call.args) > 1 else None
        if isinstance(func, ast.Attribute) and name is None:
            if (last == "equal" and len(call.args) == 1) or (last == "allclose" and _is_exact(call, 1)):
                return Comparison(call, func.value, call.args[0], True)
    if last in _WHOLE:
        owner = func.value if isinstance(func, ast.Attribute) else None
        for compared in (owner, *call.args[:1]):
            found = _elementwise(context, scope, compared)
            if found is not None:
                return found._replace(node=call)
    return None


def _elementwise(context: FileContext, scope: FunctionInfo, node: ast.expr | None) -> Comparison | None:
    """Return the comparison of two tensors element by element that `node` is."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
        return Comparison(node, node.left, node.comparators[0], isinstance(node.ops[0], ast.Eq))
    name = last_name(node.func) if isinstance(node, ast.Call) else None
    if name not in _SAME | _DIFFERENT or not isinstance(node, ast.Call):
        return None
    if context.qualified(scope, node.func) is None and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
        return Comparison(node, node.func.value, node.args[0], name in _SAME)
    return Comparison(node, node.args[0], node.args[1], name in _SAME) if len(node.args) == 2 else None


def _is_exact(call: ast.Call, first: int) -> bool:
    """Tell whether `atol` is 0 and `rtol`, if it is given, too; `first` is the place of `rtol`."""
    given = {k.arg: k.value for k in call.keywords}
    rtol, atol = (
        given.get(name, call.args[first + index] if len(call.args) > first + index else None)
        for index, name in enumerate(("rtol", "atol"))
    )
    return _is_zero(atol) and (rtol is None or _is_zero(rtol))


def _is_zero(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0 and node.value is not False


def _difference(scope: FunctionInfo, node: ast.expr, depth: int) -> tuple[ast.expr, ast.expr] | None:
    """Return the two values whose difference `node` measures."""
    if depth > MAX_STEPS:
        return None
    if isinstance(node, ast.Name):
        values = [value for name, value in assignments(scope) if name == node.id]
        return _difference(scope, values[0], depth + 1) if len(values) == 1 else None
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Sub):
            return node.left, node.right
        return _difference(scope, node.left, depth + 1) if isinstance(node.op, ast.Pow) else None
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if name in _DISTANCES and len(node.args) == 2:
            return node.args[0], node.args[1]
        if name in _SIZES and isinstance(node.func, ast.Attribute):
            inner = [node.func.value, *node.args[:1]]
        else:
            inner = node.args[:1] if name in _SIZES else []
        return next((pair for part in inner if (pair := _difference(scope, part, depth + 1)) is not None), None)
    return None


def _wants_difference(scope: FunctionInfo, found: Comparison) -> bool:
    """Tell whether the code says that the values have to differ: `assert not torch.equal(a, b)`."""
    same, negated = found.same, False
    for outer in reversed(path_to(scope, found.node)[:-1]):
        if isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.Not):
            same, negated = not same, True
        elif isinstance(outer, ast.Call) and last_name(outer) == "assertFalse":
            return same
        elif isinstance(outer, ast.Assert) or (isinstance(outer, ast.Call) and last_name(outer) == "assertTrue"):
            return not same
        elif isinstance(outer, ast.Return):
            return negated and not same
        elif isinstance(outer, ast.stmt):
            return False
    return False
