"""Instances as methods find them without a known caller: what constructors, and methods that set up, leave."""

from __future__ import annotations

from collections.abc import Callable

from modellint.static.flow.alternatives import adopt, built_by_alternatives
from modellint.static.flow.binding import unknown_arguments
from modellint.static.flow.construct import after_record, initialise
from modellint.static.flow.decorators import begun_with
from modellint.static.flow.frames import Frame
from modellint.static.flow.heirs import left_empty
from modellint.static.flow.machine import Exhausted, Machine
from modellint.static.flow.startup import (
    MODE_WORDS,
    assigned_to_self,
    by_name,
    fills,
    fills_when_used,
    left_to_callers,
    may_end_training,
    may_fill,
    methods_of,
    sets_up,
)
from modellint.static.flow.state import State
from modellint.static.flow.values import (
    ENTRY_MODES,
    INSTANCE,
    MODEL,
    NONE,
    TRAIN,
    UNKNOWN_MODES,
    UNKNOWN_WEIGHTS,
    FunctionValue,
    Obj,
    Value,
    join,
    kinds,
)
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo


class Instances:
    """The instances of one file's analysis, one for each class; `base` is the state that the top level leaves."""

    def __init__(
        self, machine: Machine, module: ModuleInfo, base: Callable[[], State], exhausted: list[FunctionInfo]
    ) -> None:
        self._machine = machine
        self._module = module
        self._base = base
        self._exhausted = exhausted
        self._made: dict[ClassInfo, State] = {}

    def number(self, cls: ClassInfo) -> int:
        """Return the number of the instance of `cls`."""
        return self._machine.number(("self", cls))

    def clear(self) -> None:
        """Forget all instances."""
        self._made.clear()

    def state_of(self, cls: ClassInfo) -> State:
        """Return the state that `__init__`, and the methods which set up attributes, leave an instance in."""
        if cls not in self._made:
            self._made[cls] = self._base().copy()
            self._made[cls] = self._build(cls)
        return self._made[cls]

    def _build(self, cls: ClassInfo) -> State:
        machine = self._machine
        state = self._base().over()
        oid = self.number(cls)
        module = machine.classes.is_module(cls)
        depends = machine.classes.dependence(cls) if module else None
        state.heap[oid] = Obj(
            MODEL if module else INSTANCE,
            cls,
            "self",
            None,
            cls.name,
            ENTRY_MODES if module else UNKNOWN_MODES,
            UNKNOWN_WEIGHTS,
            {},
            depends.answer if depends else "unknown",
            depends.detail if depends else "",
            module,
        )
        self._muted(lambda: self._construct(cls, oid, state))
        if module:  # what `__init__` leaves is not what the callers leave
            state.heap[oid] = state.heap[oid]._replace(modes=ENTRY_MODES)
        else:
            state.heap[oid] = state.heap[oid]._replace(attrs=self._filled(cls, oid, state))
        return state

    def _construct(self, cls: ClassInfo, oid: int, state: State) -> None:
        machine, me = self._machine, Value(refs=frozenset({oid}))
        init = machine.project.method(cls, "__init__") or after_record(machine.project, cls)
        if init is not None and init.node is not None:
            machine.frames.append(Frame(machine.module_frame(cls.module), cls.module.body, None, ()))
            initialise(machine, cls, me, unknown_arguments(machine, init, state, me), init.node, state)
            machine.frames.pop()

    def _filled(self, cls: ClassInfo, oid: int, state: State) -> dict[str, Value]:
        """Return the attributes of an instance after other constructors, and methods that set up, have filled them."""
        machine = self._machine
        built = state.heap[oid].attrs
        others = built_by_alternatives(machine, cls, oid, state)
        self._muted(lambda: self._set_up(cls, oid, state))
        attrs = dict(state.heap[oid].attrs)
        for name, value in others.items():
            attrs[name] = value if attrs.get(name) == built.get(name) else join(attrs[name], value)
        for name, assigned in left_empty(methods_of(machine.project.ancestry(cls)[0]), attrs).items():
            given = machine.opaque(state, ("left empty", cls, name), name, ENTRY_MODES)
            attrs[name] = join(NONE, given) if assigned else given
        return attrs

    def _muted(self, run: Callable[[], None]) -> None:
        """Run what is judged elsewhere, on a budget of its own."""
        machine = self._machine
        machine.recorder.muted += 1
        try:
            run()
        except (Exhausted, RecursionError):
            self._exhausted.append(machine.frames[0].function if machine.frames else self._module.body)
        finally:
            machine.begin()

    def _set_up(self, cls: ClassInfo, oid: int, state: State) -> None:
        """Take over the attributes that methods other than `__init__` give an instance before others use them."""
        machine = self._machine
        me = Value(refs=frozenset({oid}))
        family = machine.project.ancestry(cls)[0]
        methods, named = methods_of(family), by_name(family)
        assigning = [*methods, *(setter for owner in family for setter in owner.setters.values())]
        for method in methods:
            if method.name.startswith("__"):
                continue
            in_use = frozenset[str]() if sets_up(method) else fills_when_used(method)
            if not sets_up(method) and (not in_use or self._is_varied(cls, method)):
                continue
            if not may_fill(named, method, state.heap[oid].attrs):
                continue
            after = state.over()
            machine.frames.append(Frame(machine.module_frame(method.module), method.module.body, None, ()))
            value = FunctionValue(method, None, method.name, True)
            value = begun_with(machine, value, after)
            machine.activate(value, me, unknown_arguments(machine, method, after, me), (), after)
            machine.frames.pop()
            before = state.heap[oid].attrs
            attrs = after.heap[oid].attrs
            fresh = {name: v for name, v in attrs.items() if fills(assigning, method, name, before.get(name))}
            if in_use:  # of what is kept for the next time a model alone is followed
                made = {name: self._made_in(oid, name, fresh[name]) for name in in_use & fresh.keys()}
                fresh = {name: value for name, value in made.items() if _is_a_model(value, after)}
            if fresh:
                adopt(state, after)
                state.heap[oid] = state.heap[oid]._replace(attrs={**before, **fresh})

    def _is_varied(self, cls: ClassInfo, method: FunctionInfo) -> bool:
        """Tell whether a class of the file that inherits from `cls` has its own in place of what a method calls."""
        ancestry = self._machine.project.ancestry
        heirs = (heir for heir in self._module.classes if heir is not cls and cls in ancestry(heir)[0])
        return any(not method.callees.isdisjoint(heir.methods) for heir in heirs)

    def _made_in(self, oid: int, name: str, value: Value) -> Value:
        """Return what an attribute is given, without what was made up for it where it was read before."""
        made_up = self._machine.known_number(("part", oid, name))
        return value._replace(refs=value.refs - {made_up})

    def weaken(self, function: FunctionInfo, cls: ClassInfo, state: State) -> None:
        """What another method may have changed between the constructor and this call, the callers know."""
        named = by_name(self._machine.project.ancestry(cls)[0])
        others = [method for method in left_to_callers(named) if method is not function]
        self._forget_constants(function, others, self.number(cls), state)
        if all(MODE_WORDS.isdisjoint(m.words) for m in others):
            return
        ended = any(map(may_end_training, others))
        seen: set[int] = set()
        queue = [self.number(cls)]
        while queue:
            oid = queue.pop()
            if oid in seen or state.heap.find(oid) is None:
                continue
            seen.add(oid)
            obj = state.heap[oid]
            if (ended or kinds(obj.modes) != {TRAIN}) and (obj.kind == MODEL or obj.modes != UNKNOWN_MODES):
                state.heap[oid] = obj._replace(modes=obj.modes | ENTRY_MODES)
            queue += [inner for value in obj.attrs.values() for inner in value.refs]

    def _forget_constants(self, function: FunctionInfo, others: list[FunctionInfo], oid: int, state: State) -> None:
        """Forget what the constructor set for the time being: `self.fitted = False`, `self.device = None`.

        Methods that `function` calls do so in its run; what is None for good is set by somebody out of sight.
        """
        called = [m for m in (function, *others) if m is function or m.name in function.callees]
        now = frozenset[str]().union(*map(assigned_to_self, called))
        later = frozenset[str]().union(*map(assigned_to_self, others)) - now
        attrs = state.heap[oid].attrs
        passing = {
            name: value._replace(consts=None)
            for name, value in attrs.items()
            if value.consts is not None and (name in later or value == NONE)
        }
        if passing:
            state.heap[oid] = state.heap[oid]._replace(attrs={**attrs, **passing})


def _is_a_model(value: Value, state: State) -> bool:
    return bool(value.refs) and all(state.heap[oid].kind == MODEL for oid in value.refs)
