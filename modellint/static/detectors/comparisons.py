"""Comparisons that allow no difference: `torch.equal(a, b)`, `(a == b).all()`, `(a - b).abs().max() == 0`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from modellint.static.context import FileContext
from modellint.static.guards import own, path_to, values_of
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import called_name
from modellint.static.project.names import last_name

_WHOLE = frozenset({"all", "any", "sum", "mean"})
_SAME, _DIFFERENT = frozenset({"eq", "equal"}), frozenset({"ne", "not_equal"})
_SIZES = frozenset(
    "abs absolute max amax sum mean norm vector_norm item any square pow cpu numpy detach float double flatten".split()
)
"""What makes one number of a difference, and keeps a zero where there is none."""
_DISTANCES = frozenset({"dist", "mse_loss", "l1_loss"})
_UNSIGNED = frozenset({"abs", "absolute", "norm", "vector_norm", "square", "pow"})
_SETTLES = {ast.Eq: True, ast.LtE: True, ast.NotEq: False, ast.Gt: False}
"""Comparisons with zero that ask for no difference at all, with whether they hold where there is none."""
_ORDERS = (ast.LtE, ast.Gt)
"""Those of them that tell, of a difference with a sign, which of the two is the larger."""
MAX_STEPS = 12
_ZERO = ast.Constant(0)


class Comparison(NamedTuple):
    """`left` and `right` are compared at `node`, which is true where they are the same, or where they are not."""

    node: ast.expr
    left: ast.expr
    right: ast.expr
    same: bool


class _Difference(NamedTuple):
    """What is measured between two values: `unsigned` where it cannot be less than zero."""

    left: ast.expr
    right: ast.expr
    unsigned: bool


def comparisons(context: FileContext, scope: FunctionInfo, options: Mapping[str, Any]) -> Iterator[Comparison]:
    """Yield the exact comparisons of a function; not those that say that two values have to differ."""
    names = {name.rpartition(".")[2] for name in (*options["exact"], *options["tolerant"])}
    for node in own(scope, ast.Call, ast.Compare):
        found = None
        if isinstance(node, ast.Call):
            named = called_name(context.module, node) in names
            found = _called(context, scope, node, options) if named else _reduced(context, scope, node)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and _is_zero(node.comparators[0]):
            same = _SETTLES.get(type(node.ops[0]))
            pair = _difference(context, scope, node.left, 0) if same is not None else None
            if pair is not None and same is not None and (pair.unsigned or not isinstance(node.ops[0], _ORDERS)):
                found = Comparison(node, pair.left, pair.right, same)
        if found is not None and not _wants_difference(scope, found):
            yield found


def _called(context: FileContext, scope: FunctionInfo, call: ast.Call, options: Mapping[str, Any]) -> Comparison | None:
    """Return the comparison that a call of one of the functions in `options` makes."""
    name, values = _callee(context, scope, call)
    values = [*values, *(keyword.value for keyword in call.keywords if keyword.arg in options["compared"])]
    if name in options["exact"] or (name in options["tolerant"] and _is_exact(values, call.keywords)):
        return Comparison(call, values[0], values[1], True) if len(values) > 1 else None
    return None


def _callee(context: FileContext, scope: FunctionInfo, call: ast.Call) -> tuple[str, list[ast.expr]]:
    """Return what is called and what it is given by position; a method is one of a tensor's, that comes first."""
    name = context.qualified(scope, call.func)
    if name is None and isinstance(call.func, ast.Attribute):
        return f"torch.{call.func.attr}", [call.func.value, *call.args]
    return name or "", call.args


def _reduced(context: FileContext, scope: FunctionInfo, call: ast.Call) -> Comparison | None:
    """Return the comparison element by element that a call makes one value of."""
    if last_name(call.func) not in _WHOLE:
        return None
    found = (_elementwise(context, scope, compared) for compared in _callee(context, scope, call)[1][:1])
    return next((one._replace(node=call) for one in found if one is not None), None)


def _elementwise(context: FileContext, scope: FunctionInfo, node: ast.expr) -> Comparison | None:
    """Return the comparison of two tensors element by element that `node` is."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
        return Comparison(node, node.left, node.comparators[0], isinstance(node.ops[0], ast.Eq))
    if isinstance(node, ast.Call) and last_name(node.func) in _SAME | _DIFFERENT:
        values = _callee(context, scope, node)[1]
        return Comparison(node, values[0], values[1], last_name(node.func) in _SAME) if len(values) == 2 else None
    return None


def _is_exact(values: list[ast.expr], keywords: list[ast.keyword]) -> bool:
    """Tell whether `atol`, the fourth value unless it is named, is 0, and `rtol` before it, if it is given, too."""
    given = dict(zip(("rtol", "atol"), values[2:4], strict=False))
    given |= {keyword.arg: keyword.value for keyword in keywords if keyword.arg is not None}
    return all(_is_zero(value) for value in (given.get("rtol", _ZERO), given.get("atol")))


def _is_zero(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0 and node.value is not False


def _difference(context: FileContext, scope: FunctionInfo, node: ast.expr, depth: int) -> _Difference | None:
    """Return the two values whose difference `node` measures."""
    if depth > MAX_STEPS:
        return None
    part: ast.expr | None = None
    unsigned = False
    if isinstance(node, ast.Name):
        assigned = values_of(scope, node.id)
        part = assigned[0] if len(assigned) == 1 else None
    elif isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Sub):
            return _Difference(node.left, node.right, False)
        part, unsigned = (node.left, True) if isinstance(node.op, ast.Pow) else (None, False)
    elif isinstance(node, ast.Call):
        name, values = last_name(node.func), _callee(context, scope, node)[1]
        if name in _DISTANCES and len(values) > 1:
            return _Difference(values[0], values[1], True)
        part, unsigned = next(iter(values), None) if name in _SIZES else None, name in _UNSIGNED
    found = _difference(context, scope, part, depth + 1) if part is not None else None
    return found._replace(unsigned=found.unsigned or unsigned) if found is not None else None


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
    return False
