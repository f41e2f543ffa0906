"""The top levels of imported modules: what they leave, and how it gets into a state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from modellint.static.flow.frames import Frame
from modellint.static.flow.state import State, VariableKey, join_states
from modellint.static.flow.values import (
    CONTAINER,
    INSTANCE,
    NONE,
    OPAQUE,
    BoundMethod,
    Children,
    GradContext,
    Obj,
    Parameters,
    Value,
)
from modellint.static.flow.vocabulary import OPTIONS
from modellint.static.project import ModuleInfo

if TYPE_CHECKING:
    from modellint.static.flow.machine import Machine

Globals: TypeAlias = "tuple[Mapping[VariableKey, Value], Mapping[int, Obj]]"
"""The variables and objects that the top level of a module leaves."""


def run_module(machine: Machine, number: int, module: ModuleInfo, state: State) -> Globals:
    """Run the top level of a module; return the variables and objects that it leaves."""
    machine.frames.append(Frame(number, module.body, None, ()))
    machine.recorder.muted += 1
    try:
        ends = machine.block(module.body.body, [state.over()])
    finally:
        machine.recorder.muted -= 1
        machine.frames.pop()
    if not ends:
        return {}, {}
    after = join_states(ends)
    heap = dict(after.heap)
    queue = [oid for value in (*after.variables.values(), *_held(heap.values())) for oid in _reached(value)]
    while queue:  # what it took from modules that were run before it: another start may begin with this one
        oid = queue.pop()
        obj = None if oid in heap else after.heap.find(oid)
        if obj is not None:
            heap[oid] = obj
            queue += [inner for value in _held((obj,)) for inner in _reached(value)]
    _forget_settings(number, after.variables, heap)
    return after.variables, heap


def _forget_settings(home: int, variables: Mapping[VariableKey, Value], heap: dict[int, Obj]) -> None:
    """Forget the constants in objects of options: a default is overruled by a file or a command line before use.

    `cfg.TRAIN.NET_G = ""`, of a `cfg` that other files import; a variable that holds a mere constant is one.
    """
    named = [value for (frame, name), value in variables.items() if frame == home and OPTIONS.search(str(name))]
    queue, seen = [oid for value in named for oid in value.refs], set[int]()
    while queue:
        oid = queue.pop()
        obj = heap.get(oid)
        if obj is None or oid in seen:
            continue
        seen.add(oid)
        if obj.kind in (OPAQUE, INSTANCE, CONTAINER):
            heap[oid] = obj._replace(attrs={name: _opened(value) for name, value in obj.attrs.items()})
            queue += [inner for value in obj.attrs.values() for inner in value.refs]


def _opened(value: Value) -> Value:
    return value if value.consts is None or value == NONE else value._replace(consts=None)


def fill_in(left: Globals, state: State) -> None:
    """Add to `state` what a module left, where the state does not know better."""
    variables, heap = left
    for key, value in variables.items():
        if state.variables.find(key) is None:
            state.variables[key] = value
    for oid, obj in heap.items():
        if state.heap.find(oid) is None:
            state.heap[oid] = obj


def _reached(value: Value) -> Iterator[int]:
    """Yield the objects that `value` is, or that a method or a part in it belongs to."""
    yield from value.refs
    for symbol in value.symbols:
        if isinstance(symbol, BoundMethod):
            yield from _reached(symbol.receiver)
        elif isinstance(symbol, (Parameters, Children)):
            yield symbol.owner
        elif isinstance(symbol, GradContext):
            yield from symbol.models


def _held(objects: Iterable[Obj]) -> list[Value]:
    """Return what the attributes of objects hold."""
    return [value for obj in objects for value in obj.attrs.values()]
