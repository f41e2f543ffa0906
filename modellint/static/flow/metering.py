"""Meters: methods that add up what they are given in attributes of their object, `losses.update(loss, n)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modellint.static.flow.vocabulary import GRAD_SWITCHES
from modellint.static.guards import loops_around, own
from modellint.static.narrowing import attribute_of
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import taken
from modellint.static.project.names import holder, is_named, last_name, names_in


def summed(method: FunctionInfo) -> frozenset[str]:
    """Return the parameters whose values a method adds up as they come: a tensor keeps its graph in the sum.

    Not those that it looks at or converts first (`if torch.is_tensor(value): value = value.item()`). Of `**values` all
    are meant.
    """
    known: frozenset[str] | None = method.memo.get(summed)
    if known is None:
        known = method.memo[summed] = frozenset(_summed(method))
    return known


def _summed(method: FunctionInfo) -> Iterator[str]:
    if method.self_name is None or not GRAD_SWITCHES.isdisjoint(method.words) or "reset" in method.callees:
        return
    looked_at = {
        name
        for call in method.calls
        if last_name(call.func) in _LOOKS
        for value in call.args
        for name in names_in(value)
    }
    values = _given_by_name(method)
    names = set(taken(method)) - method.stores - looked_at
    for addend in _addends(method, method.self_name):
        carried = _carried(addend)
        if isinstance(carried, ast.Name) and carried.id in names and carried.id != values:
            yield carried.id
        elif values in names and looked_at.isdisjoint(names_in(carried)) and _is_any_of(carried, values, method):
            yield values


_LOOKS = frozenset({"isinstance", "is_tensor", "hasattr", "type"})


def _given_by_name(method: FunctionInfo) -> str:
    """Return the parameter that takes what is given by name, `**values`, if the method never changes it."""
    given = method.node.args.kwarg if method.node is not None else None
    if given is None:
        return ""
    changed = [holder(node) for node in own(method, ast.Subscript) if isinstance(node.ctx, ast.Store)]
    changed += [c.func.value for c in method.calls_of(*_CHANGES) if isinstance(c.func, ast.Attribute)]
    return "" if any(is_named(node, given.arg) for node in changed) else given.arg


_CHANGES = ("update", "pop", "setdefault", "clear", "popitem")


def _is_any_of(value: ast.expr, values: str, method: FunctionInfo) -> bool:
    """Tell whether a loop around `value` makes it each of what is given by name.

    `for k in values: self.sums[k] += values[k]`, `for k, value in values.items(): self.sums[k] += value`.
    """
    loops = [loop for loop in loops_around(method, value) if isinstance(loop, ast.For)]
    match value:
        case ast.Subscript(value=ast.Name(id=held), slice=ast.Name(id=key)) if held == values:
            return any(is_named(loop.iter, values) and is_named(loop.target, key) for loop in loops)
        case ast.Name(id=item) if [n.id for n in own(method, ast.Name) if isinstance(n.ctx, ast.Store)].count(
            item
        ) == 1:
            return any(
                isinstance(loop.target, ast.Tuple)
                and is_named(loop.target.elts[-1], item)
                and ast.unparse(loop.iter) == f"{values}.items()"
                for loop in loops
            )
    return False


def _addends(method: FunctionInfo, me: str) -> Iterator[ast.expr]:
    """Yield what is added to attributes of the object: `self.sum += value`, `self.sum = self.sum + value`."""
    for node in own(method, ast.AugAssign):
        if isinstance(node.op, ast.Add) and attribute_of(holder(node.target), me) is not None:
            yield node.value
    for node in own(method, ast.Assign):
        target, value = node.targets[0], node.value
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            held = attribute_of(holder(target), me)
            if held is not None and held in _kept(value.left, me):
                yield value.right


def _kept(value: ast.expr, me: str) -> set[str | None]:
    """Return the attribute that a sum goes on with, be it weighted: `self.means[k]` of `self.means[k] * n`."""
    factors = [value.left, value.right] if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult) else [value]
    return {attribute_of(holder(factor), me) for factor in factors}


def _carried(value: ast.expr) -> ast.expr:
    """Return what a product or a mean still has the graph of: `value` of `value.mean() * n`."""
    while True:
        if isinstance(value, ast.BinOp):
            value = value.right if isinstance(value.left, ast.Constant) else value.left
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _KEEP:
            value = value.func.value
        elif isinstance(value, ast.Call) and value.args and ast.unparse(value.func) in _AVERAGE:
            value = value.args[0]
        else:
            return value


_KEEP = frozenset("mean sum cpu cuda to float double half squeeze view reshape".split())
"""Methods of a tensor that give one with its graph."""
_AVERAGE = frozenset({"hvd.allreduce", "torch.mean", "torch.sum"})
"""Functions that do: torch's, and Horovod's, which averages over processes."""
