"""What a function that is not run returns part by part: which parts are plain numbers, and which may have a graph."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from modellint.static.flow.state import State
from modellint.static.flow.values import NOTHING, Value
from modellint.static.guards import own, put_into, values_of
from modellint.static.project import FunctionInfo

if TYPE_CHECKING:
    from modellint.static.flow.machine import Machine

_METHODS = frozenset({"item", "tolist"})
_BUILTINS = frozenset({"float", "int", "bool", "len", "str"})
"""What makes plain numbers, or texts, of tensors; a tensor has methods by the names of these, which do not."""
_CUTS = frozenset({"argmax", "argmin", "eq", "ne", "gt", "ge", "lt", "le"})
_GOES_ON = frozenset({"float", "double", "long", "int", "to", "type", "cpu", "view", "sum", "mean"})
"""Methods of tensors through which no gradient comes, and methods that change nothing about that."""


def in_parts(machine: Machine, function: FunctionInfo, whole: Value, state: State) -> Value:
    """Return what a call of `function` gives, `whole` as far as is known, with its numbers apart.

    `return loss, {"kl": kl.item()}` keeps a graph in its first part alone.
    """
    if in_parts not in function.memo:
        returned = [node.value for node in own(function, ast.Return) if node.value is not None]
        display = _display(function, returned[0]) if len(returned) == 1 else None
        function.memo[in_parts] = display if display is not None and _has_numbers(function, display) else None
    display = function.memo[in_parts]
    return whole if display is None or not whole.taint else _part(machine, function, display, whole, state)


def _display(function: FunctionInfo, node: ast.expr) -> ast.Tuple | ast.Dict | None:
    """Return the tuple or dict that an expression writes out, at once or by a variable that nobody fills later."""
    if isinstance(node, ast.Name):
        values = values_of(function, node.id)
        if len(values) != 1 or put_into(function, node.id):
            return None
        node = values[0]
    if isinstance(node, ast.Dict):
        return node if all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in node.keys) else None
    return node if isinstance(node, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in node.elts) else None


def _parts(display: ast.Tuple | ast.Dict) -> list[tuple[str, ast.expr]]:
    if isinstance(display, ast.Tuple):
        return [(str(index), part) for index, part in enumerate(display.elts)]
    pairs = zip(display.keys, display.values, strict=True)
    return [(str(key.value), part) for key, part in pairs if isinstance(key, ast.Constant)]


def _has_numbers(function: FunctionInfo, display: ast.Tuple | ast.Dict) -> bool:
    for _, part in _parts(display):
        inner = _display(function, part)
        if _is_number(function, part) or (inner is not None and _has_numbers(function, inner)):
            return True
    return False


def _is_number(function: FunctionInfo, node: ast.expr) -> bool:
    """Tell whether an expression is a number that was taken out of a tensor, counted by comparing, or written down."""
    if isinstance(node, ast.Name):
        values = values_of(function, node.id)
        return bool(values) and all(not isinstance(value, ast.Name) and _is_number(function, value) for value in values)
    match node:
        case ast.Constant():
            return True
        case ast.Compare():
            return True
        case ast.Call(ast.Attribute(inner, name)) if name in _GOES_ON:
            return not isinstance(inner, ast.Name) and _is_number(function, inner)
        case ast.Call(ast.Attribute(attr=name)):
            return name in _METHODS or name in _CUTS
        case ast.Call(ast.Name(name)):
            return name in _BUILTINS
    return False


def _part(machine: Machine, function: FunctionInfo, node: ast.expr, whole: Value, state: State) -> Value:
    if _is_number(function, node):
        return NOTHING
    display = _display(function, node)
    if display is None:
        return whole
    attrs = {key: _part(machine, function, part, whole, state) for key, part in _parts(display)}
    return machine.container(display, state, attrs, "list" if isinstance(display, ast.Tuple) else "dict")
