"""Putting models into a mode, and freezing them, together with the modules registered in them."""

from __future__ import annotations

from collections.abc import Iterator

from modellint.static.dependence import NO, YES
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

GRADIENTS_ASKED = "<gradients>"
"""The attribute that remembers where `requires_grad_()` was called on a model."""


def set_mode(oid: int, modes: Modes, state: State) -> None:
    """Put an object and the modules registered in it into a mode."""
    for number in _with_parts(oid, state):
        obj = state.heap[number]
        made_up = number != oid and obj.kind == OPAQUE and not obj.proven
        kind = MODEL if obj.kind == OPAQUE and not made_up else obj.kind
        state.heap[number] = obj._replace(kind=kind, modes=modes, proven=obj.proven or not made_up)


def set_modes_inside(oid: int, modes: Modes, state: State) -> None:
    """Put what an object holds into a mode, be it in sight already or asked for later: it may be a mere dict."""
    for number in _with_parts(oid, state):
        state.heap[number] = state.heap[number]._replace(modes=modes)


def set_frozen(oid: int, frozen: bool, state: State) -> None:
    """Let the parameters of an object and of the modules registered in it require gradients, or not."""
    for number in _with_parts(oid, state):
        obj = state.heap[number]
        kept = {name: held for name, held in obj.attrs.items() if not frozen or name != GRADIENTS_ASKED}
        state.heap[number] = obj._replace(attrs=kept, frozen=frozen)


def _with_parts(oid: int, state: State) -> Iterator[int]:
    """Yield an object and the modules registered in it, each once: many parts may share one."""
    seen: set[int] = set()
    waiting = [oid]
    while waiting:
        number = waiting.pop()
        if number not in seen:
            seen.add(number)
            yield number
            for value in state.heap[number].attrs.values():
                waiting += [part for part in value.refs if _is_part(state.heap[part])]


def _is_part(obj: Obj) -> bool:
    return obj.kind == MODEL or (obj.kind == OPAQUE and obj.part)


def set_flag(oid: int, value: Value, site: Site, state: State) -> None:
    """Set the `training` attribute of an object alone, as an assignment does: the modules in it keep their mode."""
    obj = state.heap[oid]
    if _depends_through_parts(obj):
        return
    known = only_constant(value)
    if not known or not isinstance(known[0], bool):
        modes = UNKNOWN_MODES
    else:
        modes = frozenset({ModeFact(TRAIN if known[0] else EVAL, site, "training =")})
    state.heap[oid] = obj._replace(modes=modes)


def _depends_through_parts(obj: Obj) -> bool:
    """Tell whether modules in a model depend on the mode, and the model itself never asks for its own."""
    if obj.kind != MODEL or obj.depends == NO or obj.part:
        return False
    if isinstance(obj.cls, ClassInfo):
        known = obj.depends == YES or obj.hints
        return known and not any("training" in method.words for method in obj.cls.methods.values())
    return obj.cls is not None and not obj.cls.startswith("torch.")
