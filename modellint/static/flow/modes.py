"""Putting models into a mode, together with the modules registered in them."""

from __future__ import annotations

from modellint.static.flow.state import State
from modellint.static.flow.values import MODEL, OPAQUE, Modes


def set_mode(oid: int, modes: Modes, state: State, seen: frozenset[int] = frozenset()) -> None:
    """Put an object and the modules registered in it into a mode."""
    obj = state.heap[oid]
    kind = MODEL if obj.kind == OPAQUE else obj.kind
    state.heap[oid] = obj._replace(kind=kind, modes=modes, proven=True)
    seen |= {oid}
    for value in obj.attrs.values():
        for inner in value.refs:
            if inner not in seen and state.heap[inner].kind in (MODEL, OPAQUE):
                part = state.heap[inner]
                if part.kind == MODEL or part.part:
                    proven = part.proven
                    set_mode(inner, modes, state, seen)
                    if not proven and part.kind == OPAQUE:
                        state.heap[inner] = state.heap[inner]._replace(kind=OPAQUE, proven=False)
