"""Meters: methods that add up what they are given in attributes of their object, `losses.update(loss, n)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modellint.static.flow.vocabulary import GRAD_SWITCHES
from modellint.static.guards import own
from modellint.static.narrowing import attribute_of
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import taken
from modellint.static.project.names import holder, last_name, names_in


def summed(method: FunctionInfo) -> frozenset[str]:
    """Return the parameters whose values a method adds up as they come: a tensor keeps its graph in the sum.

    Not those that it looks at or converts first (`if torch.is_tensor(value): value = value.item()`).
    """
    known: frozenset[str] | None = method.memo.get(summed)
    if known is None:
        known = method.memo[summed] = frozenset(_summed(method))
    return known


def _summed(method: FunctionInfo) -> Iterator[str]:
    if method.self_name is None or not GRAD_SWITCHES.isdisjoint(method.words):
        return
    looked_at = {
        name.id
        for call in method.calls
        if last_name(call.func) in _LOOKS
        for name in call.args
        if isinstance(name, ast.Name)
    }
    names = set(taken(method)) - method.stores - looked_at
    items = {item: held for item, held in _items(method) if item not in looked_at}
    for addend in _addends(method, method.self_name):
        name = _carried(addend)
        name = items.get(name, name) if name is not None else None
        if name in names:
            yield name


def _items(method: FunctionInfo) -> Iterator[tuple[str, str]]:
    """Yield the variables of loops that are never bound again, with the dict whose values they are."""
    bound = [name for node in own(method, ast.Assign) for target in node.targets for name in names_in(target)]
    for loop in own(method, ast.For):
        match loop.iter, loop.target:
            case (
                ast.Call(func=ast.Attribute(value=ast.Name(id=held), attr="items")),
                ast.Tuple(elts=[_, ast.Name(id=item)]),
            ) if item not in bound:
                yield item, held


_LOOKS = frozenset({"isinstance", "is_tensor", "hasattr", "type"})


def _addends(method: FunctionInfo, me: str) -> Iterator[ast.expr]:
    """Yield what is added to attributes of the object: `self.sum += value`, `self.sum = self.sum + value`."""
    for node in own(method, ast.AugAssign):
        if isinstance(node.op, ast.Add) and attribute_of(holder(node.target), me) is not None:
            yield node.value
    for node in own(method, ast.Assign):
        target, value = node.targets[0], node.value
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            held = attribute_of(target, me)
            if held is not None and attribute_of(value.left, me) == held:
                yield value.right


def _carried(value: ast.expr) -> str | None:
    """Return the variable whose graph a product, a mean or an item still has: `value` of `value.mean() * n`."""
    while True:
        if isinstance(value, ast.BinOp):
            value = value.left
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _KEEP:
            value = value.func.value
        elif isinstance(value, ast.Subscript):
            value = value.value
        else:
            return value.id if isinstance(value, ast.Name) else None


_KEEP = frozenset("mean sum cpu cuda to float double half squeeze view reshape".split())
"""Methods of a tensor that give one with its graph."""
