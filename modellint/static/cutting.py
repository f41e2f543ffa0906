"""Results of which a function wants nothing but that they leave the graph of autograd."""

from __future__ import annotations

import ast

from modellint.static.guards import own
from modellint.static.project import FunctionInfo


def is_only_detached(function: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a function asks nothing of what `call` gives but to be detached, and for its shape.

    `net(x).detach()`; `y = net(x); return y.cpu().data.numpy()`.
    """
    asked = {id(node.value): node for node in own(function, ast.Attribute)}
    called = {id(node.func): node for node in function.calls}
    if _is_cut(call, asked, called):
        return True
    assigned = [node for node in own(function, ast.Assign) if node.value is call]
    names = {target.id for node in assigned for target in node.targets if isinstance(target, ast.Name)}
    loads = [n for n in own(function, ast.Name) if n.id in names and isinstance(n.ctx, ast.Load)]
    cut = [_is_cut(load, asked, called) for load in loads]
    return any(cut) and all(
        is_cut or (id(load) in asked and asked[id(load)].attr in _OF_SHAPE)
        for load, is_cut in zip(loads, cut, strict=True)
    )


def _is_cut(node: ast.expr, asked: dict[int, ast.Attribute], called: dict[int, ast.Call]) -> bool:
    """Tell whether `node` is detached at once, or when it has been moved or given another shape."""
    attribute = asked.get(id(node))
    if attribute is None or attribute.attr not in _MOVES:
        return attribute is not None and attribute.attr in _CUTS
    call = called.get(id(attribute))
    return call is not None and _is_cut(call, asked, called)


_CUTS = frozenset({"detach", "data"})
_MOVES = frozenset(
    "contiguous cpu cuda double flatten float half permute reshape squeeze to transpose unsqueeze view".split()
)
_OF_SHAPE = frozenset({"shape", "size", "dtype", "device"})
