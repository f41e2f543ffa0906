"""Calls of objects and of their methods: modes change here, weights arrive, and forwards happen."""

from __future__ import annotations

import ast
import re

from modellint.static.classes import called_attributes
from modellint.static.dependence import YES
from modellint.static.flow import data, libraries
from modellint.static.flow.construct import training_from
from modellint.static.flow.contexts import enter_context, enter_manager
from modellint.static.flow.decorators import decorated_grad
from modellint.static.flow.events import EVAL_AGAIN, FORWARD
from modellint.static.flow.handed import run_callbacks
from modellint.static.flow.machine import Machine
from modellint.static.flow.modes import set_mode
from modellint.static.flow.newlayers import shown_with_parts
from modellint.static.flow.state import State
from modellint.static.flow.targets import GRADIENTS_ASKED, LEAF_HELD, TAINT_HELD, part_of
from modellint.static.flow.touching import WRITES, touch, touch_value
from modellint.static.flow.values import (
    CONTAINER,
    EVAL,
    INSTANCE,
    LOADED,
    MIXED,
    MODEL,
    NOTHING,
    OFF,
    OPAQUE,
    TRAIN,
    UNKNOWN,
    UNKNOWN_MODES,
    UNKNOWN_WEIGHTS,
    VOLATILE,
    Args,
    Children,
    ClassValue,
    Facts,
    FunctionValue,
    Grad,
    GradContext,
    Manager,
    ModeFact,
    Modes,
    Obj,
    Parameters,
    SavedMode,
    SuperProxy,
    Value,
    join,
    join_all,
    kinds,
    only_constant,
)
from modellint.static.flow.vocabulary import FORWARD_METHOD, MODEL_NAME
from modellint.static.guards import own
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.names import last_name

SAME = frozenset(
    "to cuda cpu half float double bfloat16 type share_memory xpu apply to_empty requires_grad_ compile ipu hpu".split()
)
"""Methods of a module that return the module."""


def class_of(obj: Obj) -> ClassInfo | None:
    """Return the class of an object if it is in the project."""
    return obj.cls if isinstance(obj.cls, ClassInfo) else None


def looks_like_model(obj: Obj) -> bool:
    """Tell whether an object of which nothing is known is probably a model."""
    return obj.proven or MODEL_NAME.match(obj.name) is not None


def call_object(machine: Machine, oid: int, args: Args, node: ast.Call, state: State) -> Value:
    """Evaluate `object(...)`."""
    obj = state.heap[oid]
    if obj.kind == MODEL or (obj.kind == OPAQUE and looks_like_model(obj) and not obj.part):
        return forward(machine, oid, args, node, state)
    if obj.kind == INSTANCE and isinstance(obj.cls, str):
        return _runner_method(machine, oid, "__call__", args, node, state)
    if oid in machine.owners and obj.kind == OPAQUE:  # `f = model.encode_image; f(x)`
        owner, name = machine.owners[oid]
        if state.heap.find(owner) is not None:
            return call_on(machine, owner, name, args, node, state)
    cls = class_of(obj)
    if obj.kind == INSTANCE and cls is not None:
        method = machine.project.method(cls, "__call__")
        if method is not None:
            return machine.call(
                FunctionValue(method, None, "__call__"), Value(refs=frozenset({oid})), args, node, state
            )
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
                state.heap[symbol.owner] = state.heap[symbol.owner]._replace(frozen=True)
            results.append(receiver)
    for oid in receiver.refs:
        results.append(call_on(machine, oid, name, args, node, state))
    if not results:
        return data.method(machine, receiver, name, args, node, state)
    return join_all(results)


def _touch_parts(owner: int, state: State) -> None:
    """Parts were switched one by one: all of them, or single ones on purpose (Monte Carlo dropout, frozen norms)."""
    state.heap[owner] = state.heap[owner]._replace(modes=UNKNOWN_MODES)


def _call_super(machine: Machine, proxy: SuperProxy, name: str, args: Args, node: ast.Call, state: State) -> Value:
    mine, _ = machine.project.ancestry(proxy.cls)
    for cls in mine[1:]:
        if name in cls.methods:
            return machine.call(FunctionValue(cls.methods[name], None, name), proxy.receiver, args, node, state)
    for symbol in proxy.receiver.symbols:
        made = libraries.inherited(machine, symbol, name) if isinstance(symbol, ClassValue) else None
        if made is not None:
            return machine.call_value(Value(symbols=(made,)), args, node, state)
    results = [_builtin(machine, oid, name, args, node, state) for oid in proxy.receiver.refs]
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
        return _runner_method(machine, oid, name, args, node, state)
    cls = class_of(obj)
    method = machine.project.method(cls, name) if cls is not None else None
    if method is not None:
        if cls is not None and (method.is_static or method.is_classmethod):
            owner = Value(symbols=(ClassValue(cls, cls.name),)) if method.is_classmethod else None
            return machine.call(FunctionValue(method, None, name), owner, args, node, state)
        if obj.kind == MODEL:
            return _own_method(machine, oid, method, args, node, state)
        return machine.call(FunctionValue(method, None, name), me, args, node, state)
    result = _builtin(machine, oid, name, args, node, state)
    if result is not None:
        return result
    if obj.kind == MODEL or (obj.kind == OPAQUE and (looks_like_model(obj) or _is_given_volatile(obj, args))):
        return _model_method(machine, oid, name, args, node, state)
    return _opaque_method(machine, oid, name, args, node, state)


def _is_given_volatile(obj: Obj, args: Args) -> bool:
    """Tell whether something is given inputs just marked `volatile=True`, as people once did to run a model."""
    fresh = args.taint == {VOLATILE}
    return fresh and _NOT_MODELS.search(obj.name) is None


def _own_method(machine: Machine, oid: int, method: FunctionInfo, args: Args, node: ast.Call, state: State) -> Value:
    """Call a method that the model's own class defines."""
    me = Value(refs=frozenset({oid}))
    target = FunctionValue(method, None, method.name)
    if method.name == "forward":
        return forward(machine, oid, args, node, state)
    if method.name in ("train", "eval"):
        result = machine.call(target, me, args, node, state)
        # `train` is overridden to keep parts in eval, `eval` to add something: the whole follows all the same
        if not _switches_nothing(method):
            _builtin(machine, oid, method.name, args, node, state)
        return result if result.refs else me
    noted = machine.recorder.noted
    result = machine.call(target, me, args, node, state)
    if data.LOADS.search(method.name):
        touch(machine, oid, state)
    elif machine.recorder.noted == noted and machine.classes.runs_forward(method):
        # its forwards were not seen, for lack of budget: the call stands for them
        saved = state.grad
        state.grad = _grad_within(machine, method, saved)
        number = machine.note(FORWARD, node, oid, state, _text(node), method.name)
        state.grad = saved
        return data.result_of(machine, number, args, state)
    return result


def _switches_nothing(method: FunctionInfo) -> bool:
    """Tell whether what a class calls `train` or `eval` is something else: it hands no mode on and sets none."""
    if not _HANDS_ON.isdisjoint(method.callees):
        return False
    return not any(node.attr == "training" for node in own(method, ast.Attribute) if isinstance(node.ctx, ast.Store))


_HANDS_ON = frozenset({"super", "train", "eval", "apply"})


def _grad_within(machine: Machine, method: FunctionInfo, outside: Grad) -> Grad:
    """Return whether autograd records in a method that is not looked into: what it is told to, if it switches."""
    switched = decorated_grad(machine, method)
    if switched is not None:
        return switched
    if _GRAD_WORDS.isdisjoint(method.words):
        return outside
    return outside._replace(state=OFF if outside.state == OFF else UNKNOWN)


def _text(node: ast.Call) -> str:
    """Return how the callee is written, shortened."""
    text = ast.unparse(node.func)
    return text if len(text) <= 60 else text[:57] + "..."


def forward(machine: Machine, oid: int, args: Args, node: ast.Call, state: State) -> Value:
    """A forward of the model `oid`."""
    obj = state.heap[oid]
    if obj.kind == OPAQUE:
        state.heap[oid] = obj = obj._replace(kind=MODEL)
    if isinstance(obj.cls, str) and machine.knowledge.mode_free.get(obj.cls):
        return Value(taint=args.taint)  # losses, activations, single layers
    if isinstance(obj.cls, ClassInfo) and _MEASURES.search(obj.cls.name):
        return Value(taint=args.taint)
    if (
        isinstance(obj.cls, str)
        and _DROPOUT.match(obj.cls)
        and oid not in machine.owners
        and node.args
        and _is_mask(node.args[0])
    ):
        return Value(taint=args.taint)
    saved = state.grad
    cls = class_of(obj)
    own = machine.project.method(cls, "forward") if cls is not None else None
    if own is not None:
        state.grad = _grad_within(machine, own, saved)
    shown = obj if own is None else obj._replace(modes=_modes_of_what_runs(obj, own, state))
    behind = _left_behind(obj, state)
    if behind is not None:
        mixed = frozenset(fact._replace(mode=MIXED) for fact in behind.modes)
        shown = shown._replace(modes=mixed, detail=behind.detail)
    state.heap[oid] = shown_with_parts(shown, state)
    number = machine.note(FORWARD, node, oid, state, _text(node))
    state.heap[oid] = obj
    state.grad = saved
    return data.result_of(machine, number, args, state)


def _modes_of_what_runs(obj: Obj, forward: FunctionInfo, state: State) -> Modes:
    """Return the modes of a model; where its forward only runs parts that were put into evaluation mode, theirs."""
    held = [obj.attrs[name] for name in called_attributes(forward) if name in obj.attrs]
    parts = [state.heap[part] for value in held for part in value.refs]
    if not parts or len(held) < len(called_attributes(forward)):
        return obj.modes
    by_hand = all(fact.how == "eval()" for part in parts for fact in part.modes)
    if by_hand and kinds(obj.modes) == {TRAIN} and all(part.kind == MODEL for part in parts):
        return frozenset().union(*(part.modes for part in parts))
    return obj.modes


def _left_behind(obj: Obj, state: State) -> Obj | None:
    """Return a part that was built and put in after eval(): it is in training mode, and depends on it."""
    if kinds(obj.modes) != {EVAL}:
        return None
    for value in obj.attrs.values():
        for inner in value.refs:
            part = state.heap[inner]
            fresh = part.kind == MODEL and not part.part and all(f.how == f"{part.how}()" for f in part.modes)
            if fresh and part.depends == YES and kinds(part.modes) == {TRAIN}:
                return part
    return None


def _is_mask(given: ast.expr) -> bool:
    """Tell whether a layer is given ones made on the spot: what dropout makes of them is a mask, noise on purpose."""
    return isinstance(given, ast.Call) and last_name(given.func) in ("ones", "ones_like")


_DROPOUT = re.compile(r"torch\.nn\.\w*Dropout")
_MEASURES = re.compile(r"^(?!\w*(Model|Net|Network)(With|And))\w*(Loss|Criterion|Metric|Accuracy$)")
_GRAD_WORDS = frozenset({"no_grad", "inference_mode", "enable_grad", "set_grad_enabled"})


def _builtin(machine: Machine, oid: int, name: str, args: Args, node: ast.Call, state: State) -> Value | None:
    """Evaluate the methods that every torch module has; None for any other."""
    obj = state.heap[oid]
    me = Value(refs=frozenset({oid}))
    if name == "eval" and not args.every():
        if kinds(obj.modes) == {EVAL} and all(f.site is not None and f.how == "eval()" for f in obj.modes):
            machine.note(EVAL_AGAIN, node, oid, state, _text(node))
        set_mode(oid, frozenset({ModeFact(EVAL, machine.site(node), "eval()")}), state)
        return me
    if name in ("train", "set_training_mode") and (modes := _train_argument(machine, obj, args, node)) is not None:
        set_mode(oid, modes, state)
        return me
    if name == "requires_grad_":
        if only_constant(args.get("requires_grad", 0) or NOTHING) == (False,):
            state.heap[oid] = obj._replace(frozen=True)
        elif obj.kind == OPAQUE and not obj.proven:
            leaf = machine.leaf(node)
            state.heap[oid] = obj._replace(attrs={**obj.attrs, LEAF_HELD: Value(taint=frozenset({leaf}))})
            return me.with_taint(frozenset({leaf}))
        else:
            switched = Value(consts=frozenset({machine.site(node)}))
            state.heap[oid] = obj._replace(attrs={**obj.attrs, GRADIENTS_ASKED: switched}, frozen=False)
        return me
    if name in SAME:
        if name == "apply" and args.positional:
            parts = Value(symbols=(Children(oid),))
            machine.call_value(args.positional[0], Args((parts,)), node, state)
        return me
    if name == "load_state_dict":
        if not _is_optimizer(obj):
            _load_weights(machine, oid, _weights_given(machine, node, state), node, state)
        return NOTHING
    if name in ("parameters", "named_parameters"):
        state.heap[oid] = obj._replace(proven=True)
        return Value(symbols=(Parameters(oid),))
    if name in ("modules", "children", "named_modules", "named_children"):
        state.heap[oid] = obj._replace(proven=True)
        return Value(symbols=(Children(oid),))
    if name in ("state_dict", "zero_grad", "buffers", "named_buffers", "register_forward_hook"):
        if name == "state_dict":
            touch(machine, oid, state)  # its tensors are the weights: whoever gets them can fill them
        return NOTHING
    if name in ("forward", "__call__") and (obj.kind == MODEL or looks_like_model(obj)):
        return forward(machine, oid, args, node, state)
    if name == "backward":
        # a value object, or an engine that is given the loss
        taint = args.taint | (obj.attrs[TAINT_HELD].taint if TAINT_HELD in obj.attrs else frozenset())
        data.backward(machine, taint)
        return NOTHING
    return None


_NOT_MODELS = re.compile(
    r"optim|sched|scaler|sampler|loader|dataset|criterion|loss|trainer|logger|writer|args|opt$|cfg|config", re.I
)


def _is_optimizer(obj: Obj) -> bool:
    return obj.kind != MODEL and _NOT_MODELS.search(obj.name) is not None


def _train_argument(machine: Machine, obj: Obj, args: Args, node: ast.Call) -> Modes | None:
    """Return the modes that `.train(...)` sets; None where this is no mode switch."""
    if obj.kind == OPAQUE and _NOT_MODELS.search(obj.name) and not obj.proven:
        return None
    values = args.every()
    if len(values) > 1:
        return None
    site = machine.site(node)
    if not values:
        return frozenset({ModeFact(TRAIN, site, "train()")})
    known = only_constant(values[0])
    if known is not None:
        if not isinstance(known[0], bool):
            return None
        return frozenset({ModeFact(TRAIN if known[0] else EVAL, site, f"train({known[0]})")})
    saved = [s for s in values[0].symbols if isinstance(s, SavedMode)]
    if saved:
        return saved[0].modes
    if obj.kind == OPAQUE and not looks_like_model(obj):
        return None
    return frozenset({ModeFact(UNKNOWN, site, "train(...)")})


def _weights_given(machine: Machine, node: ast.Call, state: State) -> Facts:
    """Return what `load_state_dict` loads: the weights of another model are no better than they were there."""
    given = node.args[0] if node.args else None
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr == "state_dict":
        owners = [state.heap[oid] for oid in machine.eval(given.func.value, state).refs]
        if owners and any(owner.weights != frozenset({LOADED}) for owner in owners):
            return UNKNOWN_WEIGHTS
    return frozenset({LOADED})


def _load_weights(machine: Machine, oid: int, weights: Facts, node: ast.Call, state: State) -> None:
    touch(machine, oid, state)
    obj = state.heap[oid]
    modes = obj.modes
    if obj.how == "call" and modes == UNKNOWN_MODES:
        # what a factory out of sight returned and still needs its weights was just built: in training mode
        modes = training_from(obj.born or machine.site(node), libraries.JUST_BUILT)
    state.heap[oid] = obj._replace(
        kind=MODEL if obj.kind == OPAQUE else obj.kind, weights=weights, proven=True, modes=modes
    )


def _comes_from_elsewhere(machine: Machine, cls: ClassInfo, name: str) -> bool:
    """Tell whether a method that a class lacks is a function put into it (`decode = decode_function`), or another's."""
    # what a class body assigns counts as stored in what is around it
    given = any(name in owner.scope.stores for owner in machine.project.ancestry(cls)[0])
    return given or machine.classes.stores(cls, "__class__")


def _model_method(machine: Machine, oid: int, name: str, args: Args, node: ast.Call, state: State) -> Value:
    """Call a method that no class in sight defines, on a model."""
    obj = state.heap[oid]
    if isinstance(obj.cls, str) and machine.knowledge.mode_free.get(obj.cls):
        return Value(taint=args.taint)
    known = machine.knowledge.method(machine.knowledge.entry_points, libraries.origins(machine, obj), name)
    if known is not None:
        return libraries.act(machine, name, known, args, node, state, oid)
    origins = [origin for origin in libraries.origins(machine, obj) if machine.knowledge.is_library(origin)]
    maker = machine.knowledge.method(machine.knowledge.loaders, origins, name)
    if maker is not None:  # a class method: it returns another model, this one stays what it is
        return libraries.load(machine, f"{origins[0]}.{name}", maker, args, node, state, class_of(obj))
    if name.startswith(("load", "restore", "resume", "init_weights", "from_")):
        state.heap[oid] = obj._replace(weights=frozenset({LOADED, UNKNOWN}))
        if any(k in args.keywords for k in ("eval", "eval_mode", "inference")):
            state.heap[oid] = state.heap[oid]._replace(modes=UNKNOWN_MODES)
        return Value(refs=frozenset({oid})) if not args.taint else Value(taint=args.taint)
    cls = class_of(obj)
    runs = (FORWARD_METHOD.match(name) is not None and bool(args.every())) or _is_given_volatile(obj, args)
    if (
        cls is not None
        and not machine.classes.stores(cls, name)
        and (not runs or _comes_from_elsewhere(machine, cls, name))
    ):
        return machine.out_of_sight(node, args, state)  # what a base defines, or a function put into the class
    if not runs:
        touch(machine, oid, state)
        obj = state.heap[oid]
    if data.SETS_MODE.search(name) and not runs:
        state.heap[oid] = obj._replace(modes=UNKNOWN_MODES)
        return machine.out_of_sight(node, args, state)
    if runs or (cls is not None and args.positional):
        part = part_of(machine, oid, name, state)
        inner = next(iter(part.refs))
        chosen = inner if cls is not None and not runs else oid
        saved = state.grad
        if name == "generate" and saved.state != OFF:
            state.grad = saved._replace(state=UNKNOWN)  # that of transformers, the usual one, is under no_grad
        number = machine.note(FORWARD, node, chosen, state, _text(node), name)
        state.grad = saved
        return data.result_of(machine, number, args, state)
    data.escape(machine, node, args, state)
    return Value(taint=args.taint) if args.taint else NOTHING


def _runner_method(machine: Machine, oid: int, name: str, args: Args, node: ast.Call, state: State) -> Value:
    """Call a method of an object that a library made and that runs a model by itself."""
    knowledge, names = machine.knowledge, list(libraries.origins(machine, state.heap[oid]))
    if (fact := knowledge.method(knowledge.entry_points, names, name)) is not None:
        return libraries.act(machine, name, fact, args, node, state, oid)
    if (fact := knowledge.method(knowledge.wrappers, names, name)) is not None:
        return libraries.wrap(machine, f"{names[0]}.{name}", fact, args, node, state)
    if name in SAME:
        return Value(refs=frozenset({oid}))
    return _opaque_method(machine, oid, name, args, node, state)


def _opaque_method(machine: Machine, oid: int, name: str, args: Args, node: ast.Call, state: State) -> Value:
    """Call a method of an object of which nothing is known; it may keep what it is given."""
    obj = state.heap[oid]
    taint = args.taint
    held = obj.attrs.get(TAINT_HELD)
    if taint:
        attrs = {**obj.attrs, TAINT_HELD: Value(taint=taint) if held is None else join(held, Value(taint=taint))}
        state.heap[oid] = obj._replace(attrs=attrs)
    data.escape(machine, node, args, state, name)
    run_callbacks(machine, name, args, node, state)
    result = machine.out_of_sight(node, args, state)
    return result if held is None else result.with_taint(held.taint)
