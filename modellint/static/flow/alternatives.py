"""Constructors beside `__init__`: class methods and functions that build an object and hand it out ready for use.

`Predictor.from_checkpoint(path)` builds the network that `Predictor.__init__` is only given; to the other methods of
the class it is as good as built by the constructor.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modellint.static.flow.binding import unknown_arguments
from modellint.static.flow.decorators import begun_with
from modellint.static.flow.frames import Frame
from modellint.static.flow.libraries import SAVED_WHOLE
from modellint.static.flow.machine import Exhausted, Machine
from modellint.static.flow.startup import methods_of
from modellint.static.flow.state import State
from modellint.static.flow.touching import has_been_given_weights
from modellint.static.flow.values import (
    ENTRY,
    MODEL,
    NONE,
    NOTHING,
    OPAQUE,
    UNKNOWN,
    UNKNOWN_WEIGHTS,
    ClassValue,
    FunctionValue,
    Obj,
    Value,
    join,
    join_all,
    kinds,
)
from modellint.static.guards import walk_own
from modellint.static.project import ClassInfo, FunctionInfo, Project


def alternative_constructors(cls: ClassInfo, project: Project) -> Iterator[FunctionInfo]:
    """Yield the class methods of `cls`, and the functions beside it, that return a new instance of it."""
    for method in methods_of(project.ancestry(cls)[0]):
        if (method.is_classmethod or method.is_static) and _hands_out(method, {method.self_name, cls.name}):
            yield method
    yield from constructors_beside(cls)


def constructors_beside(cls: ClassInfo) -> Iterator[FunctionInfo]:
    """Yield the functions of the file of `cls`, and the methods of its other classes, that return a new instance."""
    for function in cls.module.functions:
        is_nested = function.cls is None and function.parent is not cls.module.body
        if function.cls is not cls and not is_nested and _hands_out(function, {cls.name}):
            yield function


def _hands_out(function: FunctionInfo, names: set[str | None]) -> bool:
    """Tell whether a function returns what it gets by calling one of `names`, at once or out of a variable."""
    if names.isdisjoint(function.callees):
        return False
    built: set[str] = set()
    for node in walk_own(function):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and _calls(node.value, names):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            built |= {target.id for target in targets if isinstance(target, ast.Name)}
    returned = [node.value for node in walk_own(function) if isinstance(node, ast.Return)]
    return any(_calls(value, names) or (isinstance(value, ast.Name) and value.id in built) for value in returned)


def _calls(node: ast.expr | None, names: set[str | None]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def built_by_alternatives(machine: Machine, cls: ClassInfo, oid: int, state: State) -> dict[str, Value]:
    """Return the attributes that alternative constructors fill and `__init__` leaves open, of the instance `oid`.

    Open is what `__init__` was given or leaves empty, and a network without weights that an alternative loads. The
    objects that the attributes hold are added to `state`.
    """
    found: dict[str, Value] = {}
    for maker in alternative_constructors(cls, machine.project):
        after = state.over()
        is_apart = maker.cls is not None and maker.cls not in machine.project.ancestry(cls)[0]
        for name, value in _attributes(machine, cls, maker, after).items():
            if (is_apart or _is_saved_whole(value, after)) and _is_readied_somewhere(machine, cls, name):
                continue
            if _is_open(state.heap[oid].attrs.get(name), value, state, after):
                found[name] = join(found[name], value) if name in found else value
                adopt(state, after)
    return found


def adopt(state: State, after: State) -> None:
    """Add the objects that are in `after` alone to `state`."""
    for oid, obj in after.heap.items():
        if state.heap.find(oid) is None:
            state.heap[oid] = obj


def _attributes(machine: Machine, cls: ClassInfo, maker: FunctionInfo, state: State) -> dict[str, Value]:
    """Return the attributes of the instances that `maker` returns, which is run in `state`."""
    receiver = Value(symbols=(ClassValue(cls, cls.name),)) if maker.is_classmethod else None
    machine.recorder.muted += 1
    machine.frames.append(Frame(machine.module_frame(maker.module), maker.module.body, None, ()))
    callee = FunctionValue(maker, None, maker.name, True)
    try:
        callee = begun_with(machine, callee, state)
        made = machine.activate(callee, receiver, unknown_arguments(machine, maker, state, receiver), (), state)
    except (Exhausted, RecursionError):
        return {}
    finally:
        machine.begin()
    objects = [obj for oid in made.refs if (obj := state.heap.find(oid)) is not None and obj.cls is cls]
    names = dict.fromkeys(name for obj in objects for name in obj.attrs)
    return {name: join_all(obj.attrs[name] for obj in objects if name in obj.attrs) for name in names}


def _is_open(before: Value | None, value: Value, state: State, after: State) -> bool:
    """Tell whether an attribute that is `before` after `__init__` is better described by `value`."""
    held = [obj for oid in value.refs if (obj := after.heap.find(oid)) is not None]
    if not any((obj.kind == MODEL or _was_saved_whole(obj)) and has_been_given_weights(obj) for obj in held):
        return False  # nothing that could be used as it is
    if before in (None, NONE, NOTHING):
        return True
    assert before is not None
    earlier = [state.heap[oid] for oid in before.refs]
    return all(map(_is_given, earlier)) or not any(map(has_been_given_weights, earlier))


def _is_saved_whole(value: Value, after: State) -> bool:
    return any(_was_saved_whole(obj) for oid in value.refs if (obj := after.heap.find(oid)) is not None)


def _is_readied_somewhere(machine: Machine, cls: ClassInfo, attribute: str) -> bool:
    """Tell whether any file calls `eval()` of what some object keeps by this name: who was handed the instance may."""
    return bool(machine.project.mentioning(f".{attribute}.eval(", cls.module.path, "calls"))


def _was_saved_whole(obj: Obj) -> bool:
    """Tell whether torch.load brought an object back: a network, as it is never run otherwise."""
    return bool(obj.modes) and all(fact.how == SAVED_WHOLE for fact in obj.modes)


def _is_given(obj: Obj) -> bool:
    """Tell whether nothing is known of an object, or of what it wraps: a caller gives it."""
    if kinds(obj.modes) <= {UNKNOWN, ENTRY} and obj.weights == UNKNOWN_WEIGHTS:
        return True
    return obj.kind == OPAQUE and obj.cls is None and not obj.attrs
