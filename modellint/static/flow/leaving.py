"""What the top level of a file leaves to its functions, in a form that can be compared with that of another run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from modellint.static.flow.state import State
from modellint.static.flow.values import (
    Children,
    FunctionValue,
    Grad,
    GradContext,
    Obj,
    Parameters,
    SavedMode,
    Site,
    Value,
)
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from modellint.static.flow.machine import Machine


@dataclass(slots=True)
class Base:
    """What the top level leaves: by name, a value and the objects in it; `classes` holds variables of classes.

    `code` are the functions and classes in the values of a name or class, or (None) in all others.
    """

    grad: Grad
    rest: Any
    names: dict[str, Any]
    classes: dict[ClassInfo, dict[str, Any]]
    code: dict[str | ClassInfo | None, frozenset[FunctionInfo | ClassInfo]]


def left_by(machine: Machine, state: State, module: ModuleInfo) -> Base:
    """Return what the top level of `module` leaves, which ended in `state`."""
    home, keys = machine.module_frame(module), machine.keys()
    base = Base(state.grad, {}, {}, {}, {})
    for (frame, name), value in state.variables.items():
        held = _Held(state, home)
        known: Any = held.all_of(value)
        key = keys.get(frame)
        part: str | ClassInfo | None = None
        if frame == home:
            base.names[name], part = known, name
        elif isinstance(key, tuple) and key[0] == "class" and isinstance(key[1], ClassInfo):
            part = key[1]
            base.classes.setdefault(part, {})[name] = known
        else:
            base.rest[frame, name] = known
        base.code[part] = base.code.get(part, frozenset()) | held.code
    return base


class _Held:
    """What a value is and holds: objects, functions and classes."""

    def __init__(self, state: State, home: int) -> None:
        self._state = state
        self._home = home
        self._is_open = False
        self._objects: dict[int, Obj] = {}
        self.code: set[FunctionInfo | ClassInfo] = set()

    def all_of(self, value: Value) -> Any:
        """Return a value with its objects; something that equals nothing else if it holds what cannot be compared."""
        self._visit(value)
        return object() if self._is_open else (value, self._objects)

    def _visit(self, part: Any) -> None:
        if isinstance(part, (FunctionInfo, ClassInfo)):
            self.code.add(part)
            return
        if isinstance(part, dict):
            part = tuple(part.values())
        if not isinstance(part, tuple) or isinstance(part, Site):
            return
        numbers: set[int] = set()
        if isinstance(part, Value):
            self._is_open |= bool(part.taint)  # the numbers of events are other ones in the next run
            numbers = set(part.refs)
        elif isinstance(part, FunctionValue):
            self._is_open |= part.frame not in (None, self._home)
        elif isinstance(part, (Parameters, Children, SavedMode)):
            numbers = {part.owner}
        elif isinstance(part, GradContext):
            numbers = set(part.models)
        for number in numbers - self._objects.keys():
            obj = self._state.heap.find(number)
            if obj is not None:
                self._objects[number] = obj
                self._visit(obj)
        for inner in part:
            self._visit(inner)
