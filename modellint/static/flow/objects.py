"""Calls of objects and of their methods: whose method it is, and what runs where a class of the project defines it."""

from __future__ import annotations

import ast
import re

from modellint.catalog.framework import Fact
from modellint.static.flow import data, libraries
from modellint.static.flow.contexts import enter_context, enter_manager
from modellint.static.flow.events import FORWARD
from modellint.static.flow.forwards import class_of, forward, grad_within, looks_like_model, written
from modellint.static.flow.frames import holds
from modellint.static.flow.machine import Machine
from modellint.static.flow.making import is_factory
from modellint.static.flow.modes import set_frozen, set_mode
from modellint.static.flow.modulemethods import builtin
from modellint.static.flow.state import State
from modellint.static.flow.targets import part_of, store
from modellint.static.flow.touching import WRITES, touch, touch_value
from modellint.static.flow.unseen import is_given_volatile, model_method, opaque_method, runner_method
from modellint.static.flow.values import (
    CONTAINER,
    ELEMENT,
    EVAL,
    INSTANCE,
    MODEL,
    NOTHING,
    OPAQUE,
    UNKNOWN_MODES,
    Args,
    BoundMethod,
    Children,
    ClassValue,
    FunctionValue,
    Grad,
    GradContext,
    Manager,
    Obj,
    Parameters,
    SuperProxy,
    Value,
    join_all,
    kinds,
    only_constant,
)
from modellint.static.flow.vocabulary import HELD_MODEL, MODEL_NAME
from modellint.static.guards import own
from modellint.static.project import FunctionInfo
from modellint.static.project.names import last_name


def call_object(machine: Machine, oid: int, args: Args, node: ast.Call, state: State) -> Value:
    """Evaluate `object(...)`."""
    obj = state.heap[oid]
    unpickled = obj.cls == "torch.load" and obj.how != ""  # the whole: an entry may be the class to build it with
    cls = class_of(obj)
    called = machine.project.method(cls, "__call__") if cls is not None else None
    if obj.kind == MODEL and called is not None:
        return _own_method(machine, oid, called, args, node, state)
    if obj.kind == MODEL or (obj.kind == OPAQUE and (unpickled or looks_like_model(obj)) and not obj.part):
        # without an input, a variable that is called `model` holds a class: `model = find(name)`, `net = model()`
        is_class = obj.kind == OPAQUE and not args.every()
        builds = is_class or is_factory(machine.frame.function, node.func)
        if obj.cls is not None or obj.proven or not builds:
            return forward(machine, oid, args, node, state)
    if obj.kind == INSTANCE and isinstance(obj.cls, str):
        return runner_method(machine, oid, "__call__", args, node, state)
    if oid in machine.owners and obj.kind == OPAQUE:  # `f = model.encode_image; f(x)`
        owner, name = machine.owners[oid]
        whole = state.heap.find(owner)
        if whole is not None and obj.part and obj.modes not in (whole.modes, UNKNOWN_MODES):
            return forward(machine, oid, args, node, state)  # it was put into another whole, and switched with that
        if whole is not None:
            return call_on(machine, owner, name, args, node, state)
    if obj.kind == INSTANCE and called is not None:
        return machine.call(FunctionValue(called, None, "__call__"), Value(refs=frozenset({oid})), args, node, state)
    data.escape(machine, node, args, state)
    return data.after_unknown(machine.out_of_sight(node, args, state), node)


def call_method(machine: Machine, receiver: Value, name: str, args: Args, node: ast.Call, state: State) -> Value:
    """Evaluate `receiver.name(...)`."""
    if name in ("enter_context", "__enter__"):
        for value in args.positional[:1] if name == "enter_context" else (receiver,):
            for symbol in value.symbols:
                if isinstance(symbol, GradContext):  # until the `with` around it ends
                    state.grad = Grad(symbol.grad, symbol.site)
                elif isinstance(symbol, Manager):
                    enter_manager(machine, symbol, state)
            if name == "enter_context" and value.refs:
                return enter_context(machine, value, node.args[0] if node.args else node, state)[0]
    if name in WRITES:
        touch_value(machine, receiver, state)
    if isinstance(node.func, ast.Attribute) and _STORES.match(name):
        machine.recorder.keep(args.taint, node.func.value)  # `self.losses.append(loss)`
    results = []
    for symbol in receiver.symbols:
        if isinstance(symbol, SuperProxy):
            results.append(_call_super(machine, symbol, name, args, node, state))
        elif isinstance(symbol, Children):
            if name in ("train", "eval"):
                _touch_parts(symbol.owner, state)
            results.append(receiver)
        elif isinstance(symbol, Parameters):
            if name == "requires_grad_" and only_constant(args.get("requires_grad", 0) or NOTHING) == (False,):
                set_frozen(symbol.owner, True, state)
            results.append(receiver)
        elif isinstance(symbol, BoundMethod) and name.endswith("_"):
            results.append(receiver)  # `p.data.mul_(0.9)` is `p.data`
    for oid in receiver.refs:
        results.append(call_on(machine, oid, name, args, node, state))
    if not results and (fact := _loader_of_any_class(machine, node)) is not None:
        return libraries.load(machine, written(node), fact, args, node, state)
    if not results:
        return data.method(machine, receiver, name, args, node, state)
    return join_all(results)


_STORES = re.compile(
    r"(append|extend|insert|add|update|push|put|store|save|remember|record|collect|accumulate)(left)?$"
)
"""Methods of what keeps for later what it is given: lists, memories, meters; no writers (`add_scalar`)."""


def _touch_parts(owner: int, state: State) -> None:
    """Parts were switched one by one: all of them, or single ones on purpose (Monte Carlo dropout, frozen norms)."""
    set_mode(owner, UNKNOWN_MODES, state)


def _call_super(machine: Machine, proxy: SuperProxy, name: str, args: Args, node: ast.Call, state: State) -> Value:
    mine, _ = machine.project.ancestry(proxy.cls)
    for cls in mine[1:]:
        if name in cls.methods:
            return machine.call(FunctionValue(cls.methods[name], None, name), proxy.receiver, args, node, state)
    for symbol in proxy.receiver.symbols:
        made = libraries.inherited(machine, symbol, name) if isinstance(symbol, ClassValue) else None
        if made is not None:
            return machine.call_value(Value(symbols=(made,)), args, node, state)
    results = [builtin(machine, oid, name, args, node, state) for oid in proxy.receiver.refs]
    found = [r for r in results if r is not None]
    return join_all(found) if found else Value(taint=args.taint)


def call_on(machine: Machine, oid: int, name: str, args: Args, node: ast.Call, state: State) -> Value:
    """Evaluate a method call on one object."""
    obj = state.heap[oid]
    me = Value(refs=frozenset({oid}))
    if obj.kind == CONTAINER:
        return data.container_method(machine, oid, name, args, node, state)
    held = obj.attrs.get(name)
    if held is not None and (held.refs or held.symbols):
        # a part made up when the attribute was read says nothing that its owner does not
        made_up = {r for r in held.refs if machine.owners.get(r) == (oid, name) and state.heap[r].kind == OPAQUE}
        if held.refs - made_up or held.symbols:
            return machine.call_value(held._replace(refs=held.refs - made_up), args, node, state)
    if obj.kind == INSTANCE and isinstance(obj.cls, str):
        return runner_method(machine, oid, name, args, node, state)
    cls = class_of(obj)
    method = machine.project.method(cls, name) if cls is not None else None
    if method is not None:
        if cls is not None and (method.is_static or method.is_classmethod):
            owner = Value(symbols=(ClassValue(cls, cls.name),)) if method.is_classmethod else None
            return machine.call(FunctionValue(method, None, name), owner, args, node, state)
        if obj.kind == MODEL:
            return _own_method(machine, oid, method, args, node, state)
        data.metered(machine, method, args, node, state)
        return machine.call(FunctionValue(method, None, name), me, args, node, state)
    result = builtin(machine, oid, name, args, node, state)
    if result is not None:
        return result
    fact = _loader_of_any_class(machine, node) if obj.kind == OPAQUE and not looks_like_model(obj) else None
    if fact is not None:
        return libraries.load(machine, written(node), fact, args, node, state)
    if obj.cls is None and obj.kind in (MODEL, OPAQUE) and HELD_MODEL.match(name) and args.every():
        refs = part_of(machine, oid, name, state).refs
        return join_all(forward(machine, part, args, node, state) for part in refs)
    if obj.kind == MODEL or (obj.kind == OPAQUE and (looks_like_model(obj) or is_given_volatile(obj, args))):
        return model_method(machine, oid, name, args, node, state)
    readied = _readied_part(obj, state) if obj.kind == OPAQUE and _SCORES.match(name) and args.every() else None
    if readied is not None:
        return model_method(machine, readied, name, args, node, state)
    if name == "append" and obj.kind == OPAQUE and len(args.positional) == 1:
        # a list that was made out of sight, by the constructor of a base class say, holds what it is given
        if any(state.heap[given].kind == MODEL for given in args.positional[0].refs):
            store(state, oid, ELEMENT, args.positional[0])
            return NOTHING
    return opaque_method(machine, oid, name, args, node, state)


def _loader_of_any_class(machine: Machine, node: ast.Call) -> Fact | None:
    """Return what is known of a loader by its name alone, of a model or of a class that a table or a variable holds:
    `REGISTRY[kind].load_from_checkpoint(path)`. Any other object may have a method of that name."""
    if not isinstance(node.func, ast.Attribute):
        return None
    owner = node.func.value
    name = (last_name(owner) if isinstance(owner, (ast.Name, ast.Attribute)) else None) or ""
    if not isinstance(owner, ast.Subscript) and _CLASS.search(name) is None and MODEL_NAME.match(name) is None:
        return None
    return machine.knowledge.loaders.get(f"{_ANY}.{node.func.attr}")


_CLASS = re.compile(r"(^|_)(cls|class|klass)(_|$)|^[A-Z]\w*[a-z]")
"""How variables and attributes are called that hold a class."""
_ANY = "<any>"
"""Stands for a class out of sight in the name of its method."""

_SCORES = re.compile(r"^(score|encode|embed|forward)(_|$)")
"""Methods by which an object asks the model that it holds; others, `evaluate()`, see to all of it themselves."""


def _readied_part(obj: Obj, state: State) -> int | None:
    """Return the model of an object out of sight that was put into evaluation mode there: `ranker.model.eval()`."""
    held = (part for name, value in obj.attrs.items() if HELD_MODEL.match(name) for part in value.refs)
    readied = [part for part in held if state.heap[part].kind == MODEL and _is_readied(state.heap[part])]
    return readied[0] if len(readied) == 1 else None


def _is_readied(obj: Obj) -> bool:
    return bool(obj.modes) and all(fact.by_eval for fact in obj.modes)


def _own_method(machine: Machine, oid: int, method: FunctionInfo, args: Args, node: ast.Call, state: State) -> Value:
    """Call a method that the model's own class defines."""
    me = Value(refs=frozenset({oid}))
    target = FunctionValue(method, None, method.name)
    if method.name == "forward":
        return forward(machine, oid, args, node, state)
    if method.name in ("train", "eval"):
        result = machine.call(target, me, args, node, state)
        # `train` is overridden to keep parts in eval, `eval` to add something: the whole follows all the same
        if not (_switches_nothing(method) or _was_put_into_evaluation(state.heap[oid], method)):
            parts = [part for held in state.heap[oid].attrs.values() for part in held.refs]
            kept = {p: state.heap[p].modes for p in parts if _was_put_into_evaluation(state.heap[p], method)}
            builtin(machine, oid, method.name, args, node, state)
            for part, modes in kept.items():
                state.heap[part] = state.heap[part]._replace(modes=modes)
        return result if result.refs else me
    noted = machine.recorder.noted
    result = machine.call(target, me, args, node, state)
    if data.LOADS.search(method.name):
        touch(machine, oid, state)
    elif method is machine.frame.function:
        return result  # it calls itself: what it runs is seen there
    elif machine.recorder.noted == noted and machine.classes.runs_forward(method) and method.name not in _KEEPS_BOOKS:
        # its forwards were not seen, for lack of budget: the call stands for them
        saved = state.grad
        state.grad = grad_within(machine, method, saved)
        number = machine.note(FORWARD, node, oid, state, written(node), method.name)
        state.grad = saved
        return data.result_of(machine, number, args, state)
    return result


_KEEPS_BOOKS = frozenset(
    "state_dict load_state_dict parameters named_parameters buffers named_buffers children modules named_modules "
    "apply to cpu cuda half float zero_grad requires_grad_ extra_repr".split()
)
"""Methods of every module: where a class has its own, they still run nothing."""


def _switches_nothing(method: FunctionInfo) -> bool:
    """Tell whether what a class calls `train` or `eval` is something else: it hands no mode on and sets none."""
    if not _HANDS_ON.isdisjoint(method.callees):
        return False
    return not any(node.attr == "training" for node in own(method, ast.Attribute) if isinstance(node.ctx, ast.Store))


def _was_put_into_evaluation(obj: Obj, method: FunctionInfo) -> bool:
    """Tell whether a method itself put an object into evaluation mode: its own by `super().train(False)`, or a part."""
    return kinds(obj.modes) == {EVAL} and all(holds(method, fact.site) for fact in obj.modes)


_HANDS_ON = frozenset({"super", "train", "eval", "apply"})
