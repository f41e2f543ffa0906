"""Methods that no class in sight defines: a library's, those of models by their names, and any other."""

from __future__ import annotations

import ast
import re

from modellint.static.classes import WITHOUT_LAYERS
from modellint.static.flow import data, libraries
from modellint.static.flow.events import FORWARD
from modellint.static.flow.forwards import class_of, written
from modellint.static.flow.handed import run_callbacks
from modellint.static.flow.machine import Machine
from modellint.static.flow.modulemethods import SAME
from modellint.static.flow.state import State
from modellint.static.flow.targets import TAINT_HELD, part_of
from modellint.static.flow.touching import touch
from modellint.static.flow.values import (
    LOADED,
    METHODS_UNSEEN,
    NOTHING,
    OFF,
    TRAIN,
    UNKNOWN,
    UNKNOWN_MODES,
    VOLATILE,
    Args,
    Obj,
    Value,
    join,
    kinds,
)
from modellint.static.flow.vocabulary import FORWARD_METHOD, MODEL_NAME, NOT_MODELS, asks_for_a_loss
from modellint.static.guards import conditions
from modellint.static.project import ClassInfo
from modellint.static.project.names import is_called_on, last_name
from modellint.static.project.trees import walk


def is_given_volatile(obj: Obj, args: Args) -> bool:
    """Tell whether something is given inputs just marked `volatile=True`, as people once did to run a model."""
    fresh = args.taint == {VOLATILE}
    return fresh and NOT_MODELS.search(obj.name) is None


def _comes_from_elsewhere(machine: Machine, cls: ClassInfo, name: str) -> bool:
    """Tell whether a method that a class lacks is a function put into it (`decode = decode_function`), or another's."""
    return _lacks(machine, cls, name) or _is_put_in(machine, cls, name) or machine.classes.stores(cls, "__class__")


def _is_asked_for(machine: Machine, node: ast.Call, name: str) -> bool:
    """Tell whether a call stands under a condition that what it is called of has that method."""
    asked = (call for test, holds in conditions(machine.frame.function, node) if holds for call in walk(test))
    return any(
        isinstance(call, ast.Call)
        and last_name(call) == "hasattr"
        and len(call.args) == 2
        and isinstance(call.args[1], ast.Constant)
        and call.args[1].value == name
        for call in asked
    )


def _is_put_in(machine: Machine, cls: ClassInfo, name: str) -> bool:
    """Tell whether the body of a class, or of a base, assigns a name, which counts as stored in what is around it."""
    return any(name in owner.scope.stores for owner in machine.project.ancestry(cls)[0])


def _lacks(machine: Machine, cls: ClassInfo, name: str) -> bool:
    """Tell whether a class in sight from its bases on has no such method: another of the objects is meant."""
    mine, outside = machine.project.ancestry(cls)
    hidden = any("__getattr__" in owner.methods for owner in mine) or _is_put_in(machine, cls, name)
    return _PLAIN_BASES.issuperset(outside) and not hidden


_PLAIN_BASES = WITHOUT_LAYERS | {"torch.nn.Module"}


def model_method(machine: Machine, oid: int, name: str, args: Args, node: ast.Call, state: State) -> Value:
    """Call a method that no class in sight defines, on a model."""
    obj = state.heap[oid]
    known = machine.knowledge.method(machine.knowledge.entry_points, libraries.origins(machine, obj), name)
    if known is not None:
        return libraries.act(machine, name, known, args, node, state, oid)
    if isinstance(obj.cls, str) and machine.knowledge.mode_free.get(obj.cls):
        return Value(taint=args.taint)
    if METHODS_UNSEEN in obj.attrs:
        if kinds(obj.modes) != {TRAIN} or not (
            (_COMPUTES_FEATURES.match(name) and args.every()) or _is_part_by_its_name(obj, name, args)
        ):
            return machine.out_of_sight(node, args, state)
        touch(machine, oid, state)
        saved = state.grad
        if saved.state != OFF:
            state.grad = saved._replace(state=UNKNOWN)  # a method of its own may see to autograd
        number = machine.note(FORWARD, node, oid, state, written(node), name)
        state.grad = saved
        return data.result_of(machine, number, args, state)
    origins = [origin for origin in libraries.origins(machine, obj) if _is_library_class(machine, origin)]
    maker = machine.knowledge.method(machine.knowledge.loaders, origins, name)
    if maker is not None:  # a class method: it returns another model, this one stays what it is
        return libraries.load(machine, f"{origins[0]}.{name}", maker, args, node, state, class_of(obj))
    if name.startswith(("load", "restore", "resume", "init_weights", "from_")):
        state.heap[oid] = obj._replace(weights=frozenset({LOADED, UNKNOWN}))
        if any(k in args.keywords for k in ("eval", "eval_mode", "inference")):
            state.heap[oid] = state.heap[oid]._replace(modes=UNKNOWN_MODES)
        return Value(refs=frozenset({oid})) if not args.taint else Value(taint=args.taint)
    cls = class_of(obj)
    runs = (FORWARD_METHOD.match(name) is not None and bool(args.every())) or is_given_volatile(obj, args)
    runs = (
        runs
        or _runs_for_its_loss(obj, node, args)
        or (_is_part_by_its_name(obj, name, args) and not _is_set_apart(machine, node))
    )
    if (
        cls is not None
        and not machine.classes.stores(cls, name)
        and (not runs or _comes_from_elsewhere(machine, cls, name))
    ):
        if _lacks(machine, cls, name) and _is_asked_for(machine, node, name):
            # it is not what is meant here: `if hasattr(net, "tracking"): net.tracking()` readies another one
            state.heap[oid] = obj._replace(modes=obj.modes | UNKNOWN_MODES)
        return machine.out_of_sight(node, args, state)  # what a base defines, or a function put into the class
    if not runs:
        touch(machine, oid, state)
        obj = state.heap[oid]
    if data.SETS_MODE.search(name) and not runs:
        state.heap[oid] = obj._replace(modes=UNKNOWN_MODES)
        return machine.out_of_sight(node, args, state)
    is_part = cls is not None and args.every() and not name.endswith("_type")  # `net.in_type(x)` names what x is
    if runs or (cls is not None and is_part and machine.classes.may_be_part(cls, name)):
        part = part_of(machine, oid, name, state)
        inner = next(iter(part.refs))
        chosen = inner if cls is not None and not runs else oid
        saved = state.grad
        if name == "generate" and saved.state != OFF:
            state.grad = saved._replace(state=UNKNOWN)  # that of transformers, the usual one, is under no_grad
        number = machine.note(FORWARD, node, chosen, state, written(node), name)
        state.grad = saved
        return data.result_of(machine, number, args, state)
    data.escape(machine, node, args, state)
    return Value(taint=args.taint) if args.taint else NOTHING


_COMPUTES_FEATURES = re.compile(r"^_?(forward\w*|extract_(\w+_)?(features?|embeddings?)|get_\w*features?)$")
"""Methods that run a network as it stands: what encodes or predicts goes the whole way, and may switch the mode."""


def _is_library_class(machine: Machine, origin: str) -> bool:
    """Tell whether what tells what an object is names a library's class; what a function returns has any methods."""
    return machine.knowledge.is_library(origin) and origin.rpartition(".")[2][:1].isupper()


def _is_part_by_its_name(obj: Obj, name: str, args: Args) -> bool:
    """Tell whether what is called of a model out of sight is a part of it, as the name says: `net.image_encoder(x)`."""
    if isinstance(obj.cls, ClassInfo) or not args.every():
        return False
    if MODEL_NAME.match(name) is None and _PART.search(name) is None:
        return False
    return obj.cls is None or _DOES.match(name) is None


_PART = re.compile(r"(^|_)(\w*extractor|embedder|trunk|stem|body|neck)$")
"""Names of parts with layers of every kind: what is called a head, or `fc`, may well be a single one."""


def _is_set_apart(machine: Machine, node: ast.Call) -> bool:
    """Tell whether a function does something to the parameters of the part that it calls: freezes it, perhaps."""
    part = ast.unparse(node.func)
    switches = machine.frame.function.calls_of("requires_grad_", "parameters", "named_parameters")
    return any(is_called_on(call, part) for call in switches)


_DOES = re.compile(
    r"(reset|set|get|freeze|unfreeze|push|pull|init|remove|update|add|make|build|create|replace|convert|prepare|enable|"
    r"disable|register|apply|tie|resize|load|save|attach|detach|merge|unload|fuse|compile|quanti[sz]e|prune|train|fit)_"
)
"""What a method of a library's network does to a part of it: `net.reset_classifier(0)`."""


def _runs_for_its_loss(obj: Obj, node: ast.Call, args: Args) -> bool:
    """Tell whether a model out of sight is asked for the loss of a batch, not of its results."""
    return obj.cls is None and asks_for_a_loss(node) and bool(args.every()) and not args.taint


def runner_method(machine: Machine, oid: int, name: str, args: Args, node: ast.Call, state: State) -> Value:
    """Call a method of an object that a library made and that runs a model by itself."""
    knowledge, names = machine.knowledge, list(libraries.origins(machine, state.heap[oid]))
    if (fact := knowledge.method(knowledge.entry_points, names, name)) is not None:
        return libraries.act(machine, name, fact, args, node, state, oid)
    if (fact := knowledge.method(knowledge.wrappers, names, name)) is not None:
        return libraries.wrap(machine, f"{names[0]}.{name}", fact, args, node, state)
    if name in SAME:
        return Value(refs=frozenset({oid}))
    return opaque_method(machine, oid, name, args, node, state)


def opaque_method(machine: Machine, oid: int, name: str, args: Args, node: ast.Call, state: State) -> Value:
    """Call a method of an object of which nothing is known; it may keep what it is given."""
    obj = state.heap[oid]
    taint = args.taint
    held = obj.attrs.get(TAINT_HELD)
    if taint:
        attrs = {**obj.attrs, TAINT_HELD: Value(taint=taint) if held is None else join(held, Value(taint=taint))}
        state.heap[oid] = obj._replace(attrs=attrs)
    data.escape(machine, node, args, state, name)
    given = run_callbacks(machine, name, args, node, state)
    result = machine.out_of_sight(node, args, state).with_taint(given)
    # what comes out is made of what goes in (`scaler.inverse_transform(x)`), or else of what was kept (`meter.mean()`)
    return result if held is None or taint else result.with_taint(held.taint)
