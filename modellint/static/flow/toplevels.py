"""The top levels of imported modules: what they leave, and how it gets into a state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from modellint.static.flow.frames import Frame
from modellint.static.flow.state import State, VariableKey, join_states
from modellint.static.flow.values import BoundMethod, Children, GradContext, Obj, Parameters, Value
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
    return after.variables, heap


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
