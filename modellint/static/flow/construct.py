"""Objects come into being: instances of the project's classes, and torch modules from outside."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from modellint.static import given, options
from modellint.static.dependence import NO, UNKNOWN, YES, Dependence
from modellint.static.flow.events import CallSite
from modellint.static.flow.frames import call_at
from modellint.static.flow.machine import Machine
from modellint.static.flow.state import State
from modellint.static.flow.touching import built_from_weights
from modellint.static.flow.values import (
    COLLECTIONS,
    CONTAINER,
    EVAL,
    INSTANCE,
    LOADED,
    MODEL,
    NOTHING,
    RANDOM,
    TRAIN,
    UNKNOWN_MODES,
    UNKNOWN_WEIGHTS,
    Args,
    Children,
    ClassValue,
    Facts,
    FunctionValue,
    ModeFact,
    Modes,
    Obj,
    Site,
    Value,
    join,
    kinds,
)
from modellint.static.flow.vocabulary import MODEL_NAME, OPTIONS
from modellint.static.guards import own
from modellint.static.narrowing import attribute_of
from modellint.static.project import ClassInfo, FunctionInfo, Project
from modellint.static.project.facts import is_plain, parameters
from modellint.static.project.names import last_name
from modellint.static.weights import Weights

EFFECTIVE = frozenset(
    "eval train no_grad inference_mode enable_grad set_grad_enabled requires_grad_ requires_grad load_state_dict "
    "from_pretrained create_model".split()
)
"""Words that make a method of a module worth interpreting: it may change a mode, gradients or weights."""


def training_from(site: Site, how: str) -> Modes:
    """Return the modes of a module just built: torch.nn.Module.__init__ sets training to True."""
    return frozenset({ModeFact(TRAIN, site, how)})


def construct(machine: Machine, symbol: ClassValue, args: Args, node: ast.Call, state: State) -> Value:
    """Build an instance of a class of the project, or of whichever class its `__new__` makes instead."""
    cls = symbol.cls
    maker = machine.project.method(cls, "__new__")
    if maker is not None and "__new__" not in maker.callees:  # it asks no base for an object of its own
        return machine.call(FunctionValue(maker, None, maker.name), Value(symbols=(symbol,)), args, node, state)
    if machine.classes.is_module(cls):
        if machine.knowledge.mode_free.get(symbol.dotted):  # the project is the library
            depends = Dependence(NO)
        else:
            depends = given.of_call(machine.classes, cls, node, machine.frame.function)
            if machine.frame.chain:  # else nobody in sight tells what the parameters around are
                known = partial(_constants_of, machine, state)
                depends = options.as_known(depends, known, _steps(machine.frame.chain))
        alone = machine.classes.dependence(cls).answer
        site = machine.site(node)
        modes = training_from(site, f"{cls.name}()")
        plain = _plain_arguments(machine, cls, args)
        around = (oid for value in args.every() if value not in plain for oid in value.refs)
        if alone != YES and any(_switched(machine, oid, state) for oid in around):
            modes = UNKNOWN_MODES  # built around a model: what is inside keeps its mode
        if depends.answer == UNKNOWN and _wraps_what_is_out_of_sight(machine, cls, args):
            modes = UNKNOWN_MODES
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
            touched=built_from_weights(args, state) or machine.quiet.weights.always_loads(cls),
            hints=depends.hints and all(keyword.arg is not None for keyword in node.keywords),
        )
    else:
        obj = Obj(INSTANCE, cls, "", machine.site(node), cls.name, UNKNOWN_MODES, UNKNOWN_WEIGHTS, {})
    value = machine.allocate(node, state, obj, cls)
    is_module = machine.classes.is_module(cls)
    initialise(machine, cls, value, args, node, state, is_module and machine.quiet.weights.of(cls).loads_parts)
    for oid in value.refs:
        built = state.heap[oid]
        if built.kind == MODEL and _is_made_of_loaded_parts(machine, cls, built, state):
            state.heap[oid] = built = built._replace(weights=frozenset({LOADED}))
        elif built.weights == frozenset({RANDOM}):
            state.heap[oid] = built = built._replace(weights=_weights_of_parts(machine, cls, built, state))
        if built.depends == UNKNOWN and machine.classes.dependence(cls).hangs_on:
            state.heap[oid] = built = _with_given(machine, built, state)
        if (
            built.kind == MODEL
            and _keeps_what_is_switched(built, state)
            and machine.classes.dependence(cls).answer != YES
        ):
            state.heap[oid] = built._replace(modes=built.modes | UNKNOWN_MODES)  # only its own flag may be left
    return value


def _keeps_what_is_switched(built: Obj, state: State) -> bool:
    """Tell whether a new model keeps a part that is in evaluation mode, by itself or in one of torch's containers.

    A container that is known to be in training mode has another part that depends on it.
    """
    parts = _objects(built.attrs.values(), state)
    held = [part for part in parts if part.cls in COLLECTIONS and kinds(part.modes) != {TRAIN}]
    parts += [part for container in held for part in _objects(container.attrs.values(), state)]
    return any(EVAL in kinds(part.modes) for part in parts)


def _objects(values: Iterable[Value], state: State) -> list[Obj]:
    """Return the objects that values are, of those that are still known."""
    return [obj for value in values for oid in value.refs if (obj := state.heap.find(oid)) is not None]


def _steps(chain: Sequence[CallSite]) -> Iterator[options.Step]:
    """Yield the calls of a chain whose text is known, the last one first, up to one that is not."""
    for step in reversed(chain):
        call = call_at(step.caller, step.site)
        if call is None:
            return
        yield options.Step(step.callee, call, step.caller)


def _constants_of(machine: Machine, state: State, parameter: str) -> frozenset[Any] | None:
    """Return the only constants that a parameter of the running function can be; None where it can be anything."""
    value = state.variables.find((machine.frame.id, parameter))
    return None if value is None or value.refs or value.symbols else value.consts


def _is_made_of_loaded_parts(machine: Machine, cls: ClassInfo, obj: Obj, state: State) -> bool:
    """Tell whether a model has no weights but those of networks that a library loads: it runs what was learned."""
    weights = machine.quiet.weights
    made = weights.of(cls)
    if made.fresh or made.may_load or not made.loads_parts:
        return False
    parts = _objects(obj.attrs.values(), state)
    networks = [part for part in parts if part.kind == MODEL and not is_mere_layer(part, weights)]
    return bool(networks) and all(part.weights == frozenset({LOADED}) for part in networks)


def _weights_of_parts(machine: Machine, cls: ClassInfo, obj: Obj, state: State) -> Facts:
    """Return the weights of a wrapper: those of the parts that it runs, where it makes nothing itself that learns."""
    forward = machine.project.method(cls, "forward")
    if forward is None or machine.quiet.weights.of(cls).learns:
        return obj.weights
    found: set[str] = set()
    for name in machine.classes.parts_run(forward):
        parts = _objects([obj.attrs[name]] if name in obj.attrs else [], state)
        networks = [part for part in parts if not is_mere_layer(part, machine.quiet.weights)]
        found.update(*(part.weights for part in networks))
        kept = machine.classes.kept_in(cls, name) if not parts and MODEL_NAME.match(name) else []
        if any(_is_from_outside(machine, method, value) for method, value in kept):
            found |= UNKNOWN_WEIGHTS
    return frozenset(found) or obj.weights


def _is_from_outside(machine: Machine, method: FunctionInfo, value: ast.expr) -> bool:
    """Tell whether what a class keeps was made elsewhere: `model`, `config.model`, `config.model.deploy()`.

    Not what a table or a method of its own makes: those are new.
    """
    while isinstance(value, ast.Call) and isinstance(value.func, (ast.Name, ast.Attribute)):
        value = value.func
    if attribute_of(value, method.self_name or "") is not None or not isinstance(value, (ast.Name, ast.Attribute)):
        return False
    return last_name(value) != "getattr" and machine.project.resolve_in(method, value) is None


def is_mere_layer(part: Obj, weights: Weights) -> bool:
    """Tell whether a part learns nothing: a transform of the project, or a layer of torch beside what learns."""
    if isinstance(part.cls, ClassInfo):
        return weights.of(part.cls).is_weightless
    return part.cls is not None and part.cls.startswith("torch.nn.")


def _with_given(machine: Machine, obj: Obj, state: State) -> Obj:
    """Return a model that runs what it was given: it depends on the mode where one of its parts does, for sure or most
    likely."""
    for name, held in obj.attrs.items():
        parts = _objects([held], state)
        if parts and all(part.kind == MODEL and part.depends == YES for part in parts):
            return obj._replace(depends=YES, detail=f"{parts[0].detail or parts[0].how} in {name}")
        if parts and all(part.kind == MODEL and _tells_of_a_mode(machine, part) for part in parts):
            obj = obj._replace(hints=True)
    return obj


def _tells_of_a_mode(machine: Machine, obj: Obj) -> bool:
    """Tell whether a model most likely depends on the mode, if it is not known to: one of a library does."""
    if obj.depends == UNKNOWN and isinstance(obj.cls, str):
        return obj.hints or machine.classes.of_external(obj.cls, None).hints
    return obj.depends == YES or obj.hints


def _wraps_what_is_out_of_sight(machine: Machine, cls: ClassInfo, args: Args) -> bool:
    """Tell whether a constructor is given something unknown for a parameter that is called like a model."""
    return any(
        value == NOTHING and not plain and MODEL_NAME.match(argument.arg) is not None
        for argument, value, plain in _taken(machine, cls, args)
    )


def _plain_arguments(machine: Machine, cls: ClassInfo, args: Args) -> list[Value]:
    """Return what a constructor is given for parameters that take texts and numbers: `gnn="gin"`, of `args.model`."""
    return [value for _, value, plain in _taken(machine, cls, args) if value is not None and plain]


def _taken(machine: Machine, cls: ClassInfo, args: Args) -> Iterator[tuple[ast.arg, Value | None, bool]]:
    """Yield the parameters of a constructor, what each is given, and whether it takes a text or a number."""
    init = machine.project.method(cls, "__init__")
    if init is None:
        return
    for index, (argument, default) in enumerate(list(parameters(init))[1:]):
        yield argument, args.get(argument.arg, index), _is_of_plain_values(init, argument, default)


def _is_of_plain_values(init: FunctionInfo, argument: ast.arg, default: ast.expr | None) -> bool:
    """Tell whether a parameter takes a text or a number, as its default, annotation or a comparison says."""
    if is_plain(argument.annotation) or (isinstance(default, ast.Constant) and default.value is not None):
        return True
    return any(
        isinstance(node.left, ast.Name)
        and node.left.id == argument.arg
        and isinstance(node.comparators[0], ast.Constant)
        and isinstance(node.comparators[0].value, str)
        for node in own(init, ast.Compare)
    )


def _switched(machine: Machine, oid: int, state: State) -> bool:
    """Tell whether an object is a model that may be in another mode than a new one; `args.model` is a name."""
    obj = state.heap[oid]
    if obj.kind != MODEL and (MODEL_NAME.match(obj.name) is None or _is_option(machine, oid, state)):
        return False
    return kinds(obj.modes) != {TRAIN}


def _is_option(machine: Machine, oid: int, state: State) -> bool:
    owner = state.heap.find(machine.owners[oid][0]) if oid in machine.owners else None
    return owner is not None and OPTIONS.search(owner.name) is not None


def initialise(
    machine: Machine, cls: ClassInfo, value: Value, args: Args, node: ast.AST, state: State, whole: bool = False
) -> None:
    """Run `__init__` on a new object, for a torch module only where that can matter, or where it is wanted `whole`."""
    init = machine.project.method(cls, "__init__")
    if init is None:
        family = reversed(machine.project.ancestry(cls)[0])
        fields = dict.fromkeys(name for owner in family for name in owner.fields)
        given = {name: args.get(name, index) for index, name in enumerate(fields)}
        for oid in value.refs:
            held = {name: item for name, item in given.items() if item is not None}
            state.heap[oid] = state.heap[oid]._replace(attrs={**state.heap[oid].attrs, **held})
        init, args = after_record(machine.project, cls), Args()
        if init is None:
            return
    if machine.classes.is_module(cls) and not (_any_effective(machine, cls) or _gives_model(args, state) or whole):
        return
    machine.recorder.muted += 1
    try:
        machine.call(FunctionValue(init, None, "__init__"), value, args, node, state)
    finally:
        machine.recorder.muted -= 1


def after_record(project: Project, cls: ClassInfo) -> FunctionInfo | None:
    """Return what runs behind the constructor that a dataclass, or a class of attrs or pydantic, is given."""
    return next((method for name in _BEHIND if (method := project.method(cls, name)) is not None), None)


_BEHIND = ("__post_init__", "__attrs_post_init__", "model_post_init")


def _gives_model(args: Args, state: State) -> bool:
    """Tell whether a constructor is given models, which stay what they are wherever the constructor keeps them."""
    given = [state.heap[oid] for value in args.every() for oid in value.refs]
    held = (value for obj in given if obj.kind == CONTAINER for value in obj.attrs.values())
    given += [state.heap[oid] for value in held for oid in value.refs]
    return any(obj.kind == MODEL for obj in given)


def _any_effective(machine: Machine, cls: ClassInfo) -> bool:
    """Tell whether the constructor of a module, or one of those before it, may change modes, gradients or weights.

    Or builds a part whose own constructor freezes it.
    """
    makers = list(_constructors(machine, cls))
    return any(not EFFECTIVE.isdisjoint(maker.words) or _builds_frozen(machine, maker) for maker in makers)


def _constructors(machine: Machine, cls: ClassInfo) -> Iterator[FunctionInfo]:
    names = ("__init__", "__post_init__")
    methods = (owner.methods.get(name) for owner in machine.project.ancestry(cls)[0] for name in names)
    yield from (method for method in methods if method is not None)


def _builds_frozen(machine: Machine, maker: FunctionInfo) -> bool:
    """Tell whether a constructor builds a module of the project that freezes itself where it is built."""
    known: bool | None = maker.memo.get(_builds_frozen)
    if known is None:
        made = (machine.project.resolve_in(maker, call.func) for call in maker.calls)
        classes = [symbol.target for symbol in made if symbol is not None and isinstance(symbol.target, ClassInfo)]
        known = maker.memo[_builds_frozen] = any(
            not _FREEZES.isdisjoint(inner.words) and machine.classes.is_module(cls)
            for cls in classes
            for inner in _constructors(machine, cls)
        )
    return known


_FREEZES = frozenset({"requires_grad", "requires_grad_"})


def construct_external(machine: Machine, dotted: str, args: Args, node: ast.Call, state: State) -> Value:
    """Build a torch module of a class outside the project."""
    if dotted == "torch.nn.Sequential":
        source = _taken_from(machine, args, state)
        if source is not None:
            return Value(refs=frozenset({source}))
    depends = machine.classes.of_external(dotted, node)
    if dotted in given.STACKS and args.positional and _modules_in(args.positional[0], state):
        depends = Dependence(NO)  # but for the layer that it repeats
    attrs: dict[str, Value] = {}
    if dotted.startswith("torch.nn."):
        for index, part in enumerate(args.positional):
            if dotted in COLLECTIONS:
                attrs.update(_by_key(part, state))
            elif inner := _modules_in(part, state):
                attrs[str(index)] = Value(refs=frozenset(inner))
        depends = _with_parts(machine, depends, attrs, args, state)
        if dotted == "torch.nn.Sequential" and depends.answer == NO and len(attrs) < len(args.positional):
            depends = Dependence(UNKNOWN)  # a part out of sight
    site = machine.site(node)
    name = dotted.rsplit(".", 1)[-1]
    modes = training_from(site, f"{name}()")
    modes |= modes_kept(Value(refs=frozenset(oid for held in attrs.values() for oid in held.refs)), state)
    obj = Obj(
        MODEL,
        dotted,
        "",
        site,
        name,
        modes,
        frozenset({RANDOM}),
        attrs,
        depends.answer,
        depends.detail,
        True,
        touched=built_from_weights(args, state),
        hints=depends.hints,
    )
    return machine.allocate(node, state, obj, dotted)


def _taken_from(machine: Machine, args: Args, state: State) -> int | None:
    """Return the model that a Sequential takes its parts from, `Sequential(*list(model.children())[:-1])`.

    They stay parts of that model and share its mode, now and later; what is put beside them must not depend on one.
    """
    owners: set[int] = set()
    for value in args.every():
        for symbol in value.symbols:
            if isinstance(symbol, Children):
                owners.add(symbol.owner)
        for oid in _held(value, state):
            if machine.owners.get(oid) is not None:
                owners.add(_whole(machine, oid))
            elif state.heap[oid].kind != MODEL or state.heap[oid].depends != NO:
                return None
    receiver = machine.frame.receiver
    if len(owners) != 1 or (receiver is not None and not owners.isdisjoint(receiver.refs)):
        return None
    return next(iter(owners))


def _held(value: Value, state: State) -> set[int]:
    """Return the objects that `value` may be, with those in a list instead of the list."""
    found: set[int] = set()
    for oid in value.refs:
        obj = state.heap[oid]
        found |= {r for v in obj.attrs.values() for r in v.refs} if obj.kind == CONTAINER else {oid}
    return found


def _whole(machine: Machine, oid: int) -> int:
    """Return the object that `oid` is a part of, however deep, or the one child of it that was picked by its number."""
    while oid in machine.owners:
        oid, _ = machine.owners[oid]
        if machine.owners.get(oid, (oid, ""))[1].startswith("["):
            break
    return oid


def _by_key(value: Value, state: State) -> dict[str, Value]:
    """Return the modules in a list or dictionary that a collection of modules is built from, each under its key."""
    found: dict[str, Value] = {}
    for oid in value.refs:
        for key, held in state.heap[oid].attrs.items() if state.heap[oid].kind == CONTAINER else ():
            if inner := _modules_in(held, state):
                found[key] = join(found.get(key, NOTHING), Value(refs=frozenset(inner)))
    return found


def _modules_in(value: Value, state: State) -> list[int]:
    found = []
    for oid in value.refs:
        obj = state.heap[oid]
        if obj.kind == MODEL:
            found.append(oid)
        elif obj.kind == CONTAINER:
            found += [r for v in obj.attrs.values() for r in v.refs if state.heap[r].kind == MODEL]
    return found


def modes_kept(held: Value, state: State) -> Modes:
    """Return what may be kept of the modes of what goes into a new container, whose own flag alone may be left.

    Nothing where a part that is known to depend on the mode is in training mode.
    """
    parts = [part for part in _objects([held], state) if part.depends != NO]
    if any(part.depends == YES and kinds(part.modes) == {TRAIN} for part in parts):
        return frozenset()
    return UNKNOWN_MODES if any(kinds(part.modes) != {TRAIN} for part in parts) else frozenset()


def with_part(machine: Machine, depends: Dependence, part: Value, state: State) -> Dependence:
    """Return what holds of a container of layers, of which `depends` is known, with one more part in it."""
    parts = [state.heap[oid] for oid in part.refs]
    if all(one.depends == NO for one in parts):
        return depends
    if all(kinds(one.modes) == {EVAL} for one in parts):  # which it keeps, until somebody switches the whole
        return depends if depends.answer != NO else Dependence(UNKNOWN)
    telling = next((one for one in parts if one.depends == YES), None)
    if telling is not None:
        return Dependence(YES, telling.detail or telling.how)
    tells = all(kinds(one.modes) == {TRAIN} and _tells_of_a_mode(machine, one) for one in parts)
    return Dependence(UNKNOWN, hints=depends.hints or tells)


def _with_parts(machine: Machine, depends: Dependence, attrs: dict[str, Value], args: Args, state: State) -> Dependence:
    if depends.answer == YES:
        return depends
    for value in attrs.values():
        depends = with_part(machine, depends, value, state)
        if depends.answer == YES:
            return depends
    if args.starred is None:
        return depends
    spread = [state.heap[oid] for oid in _held(args.starred, state)]  # `Sequential(*layers)`
    for layer in spread:
        if layer.kind == MODEL and layer.depends == YES:
            return Dependence(YES, layer.detail or layer.how)
    free = bool(spread) and all(layer.kind == MODEL and layer.depends == NO for layer in spread)
    return depends if free or depends.answer != NO else Dependence(UNKNOWN)
