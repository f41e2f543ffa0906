"""Objects come into being: instances of the project's classes, and torch modules from outside."""

from __future__ import annotations

import ast

from modellint.static import given
from modellint.static.dependence import NO, UNKNOWN, YES, Dependence
from modellint.static.flow.machine import Machine
from modellint.static.flow.state import State
from modellint.static.flow.touching import built_from_weights
from modellint.static.flow.values import (
    CONTAINER,
    EVAL,
    INSTANCE,
    MODEL,
    RANDOM,
    TRAIN,
    UNKNOWN_MODES,
    UNKNOWN_WEIGHTS,
    Args,
    ClassValue,
    FunctionValue,
    ModeFact,
    Modes,
    Obj,
    Site,
    Value,
    kinds,
)
from modellint.static.flow.vocabulary import MODEL_NAME
from modellint.static.project import ClassInfo, FunctionInfo

EFFECTIVE = frozenset(
    "eval train no_grad inference_mode enable_grad set_grad_enabled requires_grad_ load_state_dict from_pretrained "
    "create_model".split()
)
"""Words that make a method of a module worth interpreting: it may change a mode, gradients or weights."""


def training_from(site: Site, how: str) -> Modes:
    """Return the modes of a module just built: torch.nn.Module.__init__ sets training to True."""
    return frozenset({ModeFact(TRAIN, site, how)})


def construct(machine: Machine, symbol: ClassValue, args: Args, node: ast.Call, state: State) -> Value:
    """Build an instance of a class of the project."""
    cls = symbol.cls
    if machine.classes.is_module(cls):
        depends = given.of_call(machine.classes, cls, node, machine.frame.function)
        site = machine.site(node)
        modes = training_from(site, f"{cls.name}()")
        if depends.answer != YES and any(_switched(state.heap[oid]) for value in args.every() for oid in value.refs):
            modes = UNKNOWN_MODES  # built around a model: what is inside keeps its mode
        obj = Obj(
            MODEL,
            cls,
            "",
            site,
            cls.name,
            modes,
            frozenset({RANDOM}),
            {},
            depends.answer,
            depends.detail,
            True,
            touched=built_from_weights(args, state),
        )
    else:
        obj = Obj(INSTANCE, cls, "", machine.site(node), cls.name, UNKNOWN_MODES, UNKNOWN_WEIGHTS, {})
    value = machine.allocate(node, state, obj, "new")
    initialise(machine, cls, value, args, node, state)
    for oid in value.refs:
        built = state.heap[oid]
        parts = (state.heap.find(part) for held in built.attrs.values() for part in held.refs)
        switched = any(part is not None and EVAL in kinds(part.modes) for part in parts)
        if built.kind == MODEL and built.depends != YES and switched:
            state.heap[oid] = built._replace(modes=built.modes | UNKNOWN_MODES)  # only its own flag may be left
    return value


def _switched(obj: Obj) -> bool:
    """Tell whether an object is a model that may be in another mode than a new one."""
    return (obj.kind == MODEL or MODEL_NAME.match(obj.name) is not None) and kinds(obj.modes) != {TRAIN}


def initialise(machine: Machine, cls: ClassInfo, value: Value, args: Args, node: ast.AST, state: State) -> None:
    """Run `__init__` on a new object, for a torch module only where that can matter."""
    init = machine.project.method(cls, "__init__")
    if init is None:
        given = {name: args.get(name, index) for index, name in enumerate(cls.fields)}
        for oid in value.refs:
            held = {name: item for name, item in given.items() if item is not None}
            state.heap[oid] = state.heap[oid]._replace(attrs={**state.heap[oid].attrs, **held})
        init, args = machine.project.method(cls, "__post_init__"), Args()  # of a dataclass
        if init is None:
            return
    if machine.classes.is_module(cls) and not effective(init):
        return
    machine.recorder.muted += 1
    try:
        machine.call(FunctionValue(init, None, "__init__"), value, args, node, state)
    finally:
        machine.recorder.muted -= 1


def effective(function: FunctionInfo) -> bool:
    """Tell whether a method of a module may change modes, gradients or weights."""
    return not EFFECTIVE.isdisjoint(function.words)


def construct_external(machine: Machine, dotted: str, args: Args, node: ast.Call, state: State) -> Value:
    """Build a torch module of a class outside the project."""
    depends = machine.classes.of_external(dotted, node)
    attrs: dict[str, Value] = {}
    if dotted.startswith("torch.nn."):
        for index, part in enumerate(args.positional):
            inner = _modules_in(part, state)
            if inner:
                attrs[str(index)] = Value(refs=frozenset(inner))
        depends = _with_parts(depends, attrs, args, state)
    site = machine.site(node)
    name = dotted.rsplit(".", 1)[-1]
    obj = Obj(
        MODEL,
        dotted,
        "",
        site,
        name,
        training_from(site, f"{name}()"),
        frozenset({RANDOM}),
        attrs,
        depends.answer,
        depends.detail,
        True,
        touched=built_from_weights(args, state),
    )
    return machine.allocate(node, state, obj, "new")


def _modules_in(value: Value, state: State) -> list[int]:
    found = []
    for oid in value.refs:
        obj = state.heap[oid]
        if obj.kind == MODEL:
            found.append(oid)
        elif obj.kind == CONTAINER:
            found += [r for v in obj.attrs.values() for r in v.refs if state.heap[r].kind == MODEL]
    return found


def _with_parts(depends: Dependence, attrs: dict[str, Value], args: Args, state: State) -> Dependence:
    if depends.answer == YES:
        return depends
    for value in attrs.values():
        for oid in value.refs:
            part = state.heap[oid]
            if part.depends == YES:
                return Dependence(YES, part.detail or part.how)
            if part.depends == UNKNOWN:
                depends = Dependence(UNKNOWN)
    if args.starred is not None and depends.answer == NO:
        return Dependence(UNKNOWN)
    return depends
