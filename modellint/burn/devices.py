"""Burn from 0.22 on: the device decides whether gradients are recorded, and the mode goes with the input tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modellint.burn.conduct import FORWARDS
from modellint.burn.items import Call, Function
from modellint.burn.syntax import field, names_bound, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_SAME = frozenset({"clone", "into", "to_owned", "borrow", "as_ref", "unwrap", "expect"})
# Methods that keep a tensor on the device where it was made; `inner` and `to_device` do not.
_LEAVES = frozenset({"inner", "into_data", "to_data", "into_scalar", "valid"})
_SETS_DEVICE = frozenset({"set_device", "to_device"})


_DEVICE, _TENSOR, _VALID, _OTHER = range(4)


class Devices:
    """What the local names of one function hold at each place of its text."""

    def __init__(self, function: Function) -> None:
        # name -> (byte from which it counts, what it holds), in the order of the text
        self._history: dict[str, list[tuple[int, int]]] = {}
        for node in sorted([*function.lets, *function.loops], key=lambda n: n.start_byte):
            value = field(node, "value")
            if node.type == "let_declaration":
                holds = self._kind_of(value)
                for name in names_bound(field(node, "pattern")):
                    self._history.setdefault(name, []).append((node.end_byte, holds))
            elif node.type == "for_expression":
                holds = _TENSOR if self._is_tensor(value) else _OTHER
                for name in names_bound(field(node, "pattern")):
                    self._history.setdefault(name, []).append((node.start_byte, holds))

    def _kind_of(self, value: Node | None) -> int:
        if value is None:
            return _OTHER
        if self.records(value):
            return _DEVICE
        if _ends_in(value, "valid"):
            return _VALID
        return _TENSOR if self._is_tensor(value) else _OTHER

    def _holds(self, node: Node) -> int:
        """Return what a name holds where it is used."""
        past = [kind for at, kind in self._history.get(text_of(node), ()) if at <= node.start_byte]
        return past[-1] if past else _OTHER

    def records(self, node: Node | None) -> bool:
        """Tell whether an expression is a device that records gradients."""
        if node is None:
            return False
        if node.type == "identifier":
            return self._holds(node) == _DEVICE
        if node.type in ("reference_expression", "parenthesized_expression", "try_expression"):
            return self.records(field(node, "value") or (node.named_children[-1] if node.named_children else None))
        receiver, method = _method(node)
        if method == "autodiff":
            return True
        return method in _SAME and self.records(receiver)

    def switches_on(self, call: Call) -> bool:
        """Tell whether a call makes a device that records gradients and is not undone at once."""
        above = call.node.parent
        undone = above is not None and above.type == "field_expression" and text_of(field(above, "field")) == "inner"
        return call.method == "autodiff" and not call.arguments and not undone

    def fed_to_valid(self, call: Call) -> Node | None:
        """Return the argument made on an autodiff device that a `valid()` model is given, if it is."""
        if not FORWARDS.match(call.method) or call.receiver is None:
            return None
        receiver = call.receiver
        if not (self._holds(receiver) == _VALID or _ends_in(receiver, "valid")):
            return None
        return next((argument for argument in call.arguments if self._is_tensor(argument)), None)

    def _is_tensor(self, node: Node | None) -> bool:
        """Tell whether an expression is a tensor, a batch or a loader of them, made on an autodiff device."""
        if node is None:
            return False
        if node.type == "identifier":
            return self._holds(node) == _TENSOR
        if node.type in ("reference_expression", "parenthesized_expression", "field_expression", "try_expression"):
            return self._is_tensor(field(node, "value") or (node.named_children[-1] if node.named_children else None))
        if node.type != "call_expression":
            return False
        receiver, method = _method(node)
        arguments = field(node, "arguments")
        values = arguments.named_children if arguments is not None else []
        if method in _LEAVES:
            return False
        if method in _SETS_DEVICE:
            return any(self.records(value) for value in values)
        if method == "init":
            return False  # a module: its mode is that of its input
        if receiver is not None and self._is_tensor(receiver):
            return True
        return any(self.records(value) for value in values)


def _method(node: Node) -> tuple[Node | None, str]:
    if node.type != "call_expression":
        return None, ""
    callee = field(node, "function")
    if callee is not None and callee.type == "generic_function":
        callee = field(callee, "function")
    if callee is None or callee.type != "field_expression":
        return None, ""
    return field(callee, "value"), text_of(field(callee, "field"))


def _ends_in(node: Node, method: str) -> bool:
    return _method(node)[1] == method
