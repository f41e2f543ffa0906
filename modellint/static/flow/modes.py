"""Putting models into a mode, together with the modules registered in them."""

from __future__ import annotations

from modellint.static.dependence import YES
from modellint.static.flow.state import State
from modellint.static.flow.values import (
    EVAL,
    MODEL,
    OPAQUE,
    TRAIN,
    UNKNOWN_MODES,
    ModeFact,
    Modes,
    Obj,
    Site,
    Value,
    only_constant,
)
from modellint.static.project import ClassInfo


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


def set_flag(oid: int, value: Value, site: Site, state: State) -> None:
    """Set the `training` attribute of an object alone, as an assignment does: the modules in it keep their mode."""
    obj = state.heap[oid]
    known = only_constant(value)
    if not known or not isinstance(known[0], bool):
        modes = UNKNOWN_MODES
    elif not known[0] and _depends_through_parts(obj):
        return
    else:
        modes = frozenset({ModeFact(TRAIN if known[0] else EVAL, site, "training =")})
    state.heap[oid] = obj._replace(modes=modes)


def _depends_through_parts(obj: Obj) -> bool:
    """Tell whether modules in a model depend on the mode, and the model itself never asks for its own."""
    if obj.kind != MODEL or obj.depends != YES or obj.part:
        return False
    if isinstance(obj.cls, ClassInfo):
        return not any("training" in method.words for method in obj.cls.methods.values())
    return obj.cls is not None and not obj.cls.startswith("torch.nn.")
