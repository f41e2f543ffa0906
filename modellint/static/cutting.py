"""Results of which a function wants nothing but that they leave the graph of autograd."""

from __future__ import annotations

import ast

from modellint.static.guards import own
from modellint.static.project import FunctionInfo


def is_only_detached(function: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a function asks nothing of what `call` gives but to be detached, and for its shape.

    `net(x).detach()`; `y = net(x); return y.cpu().data.numpy()`; `last = net(x)[-1]; out[i] = last.detach()`.
    """
    reader = _Reader(function)
    return reader.is_cut(call) and reader.has_cut


class _Reader:
    """What a function does with its expressions."""

    def __init__(self, function: FunctionInfo) -> None:
        self._asked = {id(node.value): node for node in own(function, ast.Attribute)}
        self._picked = {id(node.value): node for node in own(function, ast.Subscript)}
        self._called = {id(node.func): node for node in function.calls}
        self._assigned = {id(node.value): node for node in own(function, ast.Assign)}
        self._loads: dict[str, list[ast.expr]] = {}
        for name in own(function, ast.Name):
            if isinstance(name.ctx, ast.Load):
                self._loads.setdefault(name.id, []).append(name)
        self._followed: set[str] = set()
        self.has_cut = False  # whether something was detached on the way: `y = y[0]` alone leads in a circle

    def is_cut(self, node: ast.expr) -> bool:
        """Tell whether `node` is detached at once, or when it was moved, picked from, reshaped or given a name."""
        attribute = self._asked.get(id(node))
        if attribute is not None and attribute.attr in _CUTS:
            self.has_cut = True
            return True
        if attribute is not None and attribute.attr in _MOVES:
            call = self._called.get(id(attribute))
            return call is not None and self.is_cut(call)
        if id(node) in self._picked:
            return self.is_cut(self._picked[id(node)])
        assigned = self._assigned.get(id(node))
        targets = assigned.targets if assigned is not None else []
        return bool(targets) and all(isinstance(t, ast.Name) and self._is_name_cut(t.id) for t in targets)

    def _is_name_cut(self, name: str) -> bool:
        """Tell whether all that is done with a variable cuts its graph, comes back to it or asks for its shape."""
        if name in self._followed:
            return True
        self._followed.add(name)
        loads = [load for load in self._loads.get(name, ()) if not self._is_asked_for_shape(load)]
        return bool(loads) and all(map(self.is_cut, loads))

    def _is_asked_for_shape(self, node: ast.expr) -> bool:
        attribute = self._asked.get(id(node))
        return attribute is not None and attribute.attr in _OF_SHAPE


_CUTS = frozenset({"detach", "data"})
_MOVES = frozenset(
    "contiguous cpu cuda double flatten float half permute reshape squeeze to transpose unsqueeze view".split()
)
_OF_SHAPE = frozenset({"shape", "size", "dtype", "device"})
