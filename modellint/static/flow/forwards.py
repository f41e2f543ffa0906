"""Forwards of models: what is one, in which mode and under which grad mode it runs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from modellint.static.attributes import called_attributes
from modellint.static.cutting import gives_no_graph
from modellint.static.dependence import NO, YES
from modellint.static.family import under_switch
from modellint.static.flow import data, libraries
from modellint.static.flow.decorators import decorated_grad
from modellint.static.flow.events import FORWARD
from modellint.static.flow.frames import site_of
from modellint.static.flow.machine import Machine
from modellint.static.flow.newlayers import frozen_by_parts, shown_with_parts
from modellint.static.flow.state import State
from modellint.static.flow.values import (
    ENTRY,
    EVAL,
    LOADED,
    MIXED,
    MODEL,
    OFF,
    OPAQUE,
    TRAIN,
    UNKNOWN,
    Args,
    Grad,
    ModeFact,
    Modes,
    Obj,
    Value,
    cut_off,
    kinds,
)
from modellint.static.flow.vocabulary import GRAD_SWITCHES, MODEL_NAME, NO_MODEL_NAME
from modellint.static.guards import bindings, own, path_to, walk_own
from modellint.static.narrowing import attribute_of
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.facts import parameters
from modellint.static.project.names import last_name, names_in
from modellint.static.project.trees import walk


def class_of(obj: Obj) -> ClassInfo | None:
    """Return the class of an object if it is in the project."""
    return obj.cls if isinstance(obj.cls, ClassInfo) else None


def looks_like_model(obj: Obj) -> bool:
    """Tell whether an object of which nothing is known is probably a model."""
    return obj.proven or MODEL_NAME.match(obj.name) is not None


def grad_within(machine: Machine, method: FunctionInfo, outside: Grad) -> Grad:
    """Return whether autograd records in a method that is not looked into: what it is told to, if it switches."""
    switched = decorated_grad(machine, method)
    if switched is not None:
        return switched
    if (delegated := _leaves_all_to(machine, method)) is not None:
        return delegated
    if GRAD_SWITCHES.isdisjoint(method.words) or _has_layer_that_records(machine, method):
        return outside
    off = outside.state == OFF or _returns_under_switch(method)
    return outside._replace(state=OFF if off else UNKNOWN)


def _leaves_all_to(machine: Machine, method: FunctionInfo) -> Grad | None:
    """Return the switch of the method by which alone `method` runs layers of its object; None without one.

    `forward` prepares its inputs, calls `self.forward_with_tokens(ids)`, which is decorated, and returns what came of
    it. A helper that is decorated may as well just count beside the layers.
    """
    if method.cls is None or own(method, *_REPEATS) or any(_runs_something_else(method, call) for call in method.calls):
        return None
    switch: Grad | None = None
    helpers: set[str] = set()
    for name in _called_of_self(method):
        helper = machine.project.method(method.cls, name)
        inner = [name] if helper is None else [*_called_of_self(helper)]
        if not any(_is_layer(machine, method.cls, part) for part in inner):
            continue
        found = decorated_grad(machine, helper) if helper is not None else None
        if found is None or found.state != OFF:
            return None
        switch = found
        helpers.add(name)
    return switch if switch is not None and _returns_what_came_of(method, helpers) else None


_REPEATS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)


def _runs_something_else(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a call may run a layer that is not written as an attribute: `super().forward(x)`, `blocks[0](x)`."""
    func = call.func
    while isinstance(func, ast.Attribute):
        func = func.value
    if isinstance(func, ast.Name):
        given = any(argument.arg == func.id for argument, _ in parameters(method))
        return func is call.func and (given or func.id in method.stores)
    return isinstance(func, ast.Subscript) or (isinstance(func, ast.Call) and last_name(func) == "super")


def _called_of_self(method: FunctionInfo) -> Iterator[str]:
    """Yield the attributes of its object that a method calls."""
    for call in method.calls:
        name = attribute_of(call.func, method.self_name or "")
        if name is not None:
            yield name


def _returns_what_came_of(method: FunctionInfo, helpers: set[str]) -> bool:
    """Tell whether all that a method returns is made of what its `helpers` gave."""

    def asks(value: ast.expr) -> bool:
        called = (node.func for node in walk(value) if isinstance(node, ast.Call))
        return any(attribute_of(func, method.self_name or "") in helpers for func in called)

    made = {name for name, value in bindings(method) if asks(value)}
    returned = [node.value for node in own(method, ast.Return) if node.value is not None]
    return bool(returned) and all(asks(value) or not made.isdisjoint(names_in(value)) for value in returned)


def _returns_under_switch(method: FunctionInfo) -> bool:
    """Tell whether all that a method returns is computed in a `with` block that switches gradients off."""
    returns = [node for node in own(method, ast.Return) if node.value is not None]
    return bool(returns) and all(under_switch(method, node) for node in returns)


def _has_layer_that_records(machine: Machine, method: FunctionInfo) -> bool:
    """Tell whether a method switches gradients for a part of what it does, and a layer runs outside of that part.

    The layer has to run whatever the method is given, and the part must not return: it may be all of an evaluation.
    """
    if method.cls is None or _switches_behind_itself(method):
        return False
    blocks = [node for node in own(method, ast.With) if not _is_autocast(node)]
    if any(isinstance(inner, ast.Return) for block in blocks for inner in walk(block)):
        return False
    for name in _run_in_any_case(method, blocks):
        helper = machine.project.method(method.cls, name)
        if helper is not None and not GRAD_SWITCHES.isdisjoint(helper.words):
            continue
        inner = [name] if helper is None else _run_in_any_case(helper, ())
        if any(_is_layer(machine, method.cls, part) for part in inner):
            return True
    return False


def _run_in_any_case(method: FunctionInfo, blocks: Sequence[ast.With]) -> Iterator[str]:
    """Yield what a method runs of its object whatever it is given, outside of `blocks`."""
    for call in method.calls:
        name = attribute_of(call.func, method.self_name or "")
        if name is not None:
            around = path_to(method, call)
            if not any(isinstance(node, _CONDITIONAL) or node in blocks for node in around):
                yield name


def _is_layer(machine: Machine, cls: ClassInfo, attribute: str) -> bool:
    """Tell whether a class makes what it keeps in `attribute`, be it by a class that it looks up, and it is a layer."""
    made = machine.classes.builds_child(cls, attribute)
    return made or (machine.classes.stores(cls, attribute) and NO_MODEL_NAME.search(attribute) is None)


def _switches_behind_itself(method: FunctionInfo) -> bool:
    """Tell whether a `set_grad_enabled` is entered by nothing: it holds until somebody calls it again."""
    entered = [item.context_expr for node in own(method, ast.With) for item in node.items]
    return any(call not in entered for call in method.calls_of("set_grad_enabled"))


def _is_autocast(node: ast.With) -> bool:
    calls = [item.context_expr for item in node.items]
    return all(isinstance(call, ast.Call) and last_name(call.func) == "autocast" for call in calls)


_CONDITIONAL = (ast.If, ast.IfExp, ast.While, ast.BoolOp, ast.Try, ast.Match)


def written(node: ast.Call) -> str:
    """Return how the callee is written, shortened."""
    text = ast.unparse(node.func)
    return text if len(text) <= 60 else text[:57] + "..."


def forward(machine: Machine, oid: int, args: Args, node: ast.Call, state: State) -> Value:
    """A forward of the model `oid`."""
    obj = state.heap[oid]
    if obj.kind == OPAQUE:
        state.heap[oid] = obj = obj._replace(kind=MODEL)
    if isinstance(obj.cls, str) and machine.knowledge.mode_free.get(obj.cls):
        if LOADED not in obj.weights:
            return Value(taint=args.taint)  # losses, activations, single layers
        state.heap[oid] = obj = obj._replace(depends=NO)
    if isinstance(obj.cls, ClassInfo) and _MEASURES.search(obj.cls.name) and not _has_its_loss(machine, obj.cls):
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
    known = machine.knowledge.method(machine.knowledge.entry_points, libraries.origins(machine, obj), "forward")
    if known is not None and known.effect.grad != "same":
        state.grad = saved._replace(state=known.effect.grad)
    cls = class_of(obj)
    own = machine.project.method(cls, "forward") if cls is not None else None
    if own is not None:
        state.grad = grad_within(machine, own, saved)
        for inner in _wrapped_forwards(machine, obj, state):
            state.grad = grad_within(machine, inner, state.grad)
    shown = obj if own is None else obj._replace(modes=_modes_of_what_runs(machine, obj, own, state))
    shown = shown._replace(frozen=shown.frozen or (cls is not None and frozen_by_parts(obj, cls, state)))
    state.heap[oid] = shown_with_parts(with_parts_left_behind(shown, state), state)
    number = machine.note(FORWARD, node, oid, state, written(node))
    if number is not None and isinstance(obj.cls, str) and len(args.every()) > 1:
        if kinds(obj.modes) == {TRAIN} and machine.knowledge.loss_in_training.get(obj.cls):
            machine.recorder.use(frozenset({number}), "losses")
    state.heap[oid] = obj
    state.grad = saved
    result = data.result_of(machine, number, args, state)
    return Value(taint=cut_off(result.taint)) if own is not None and gives_no_graph(own) else result


def with_parts_left_behind(obj: Obj, state: State) -> Obj:
    """Return a model, of mixed mode where parts of it are left in training mode."""
    behind = _left_behind(obj, state)
    if behind is None:
        return obj
    mixed = frozenset(fact._replace(mode=MIXED) for fact in behind.modes)
    return obj._replace(modes=mixed, detail=behind.detail)


def _wrapped_forwards(machine: Machine, obj: Obj, state: State) -> list[FunctionInfo]:
    """Return the forwards of the network that a wrapper holds as `module`, as torch's DataParallel does."""
    held = obj.attrs.get("module")
    classes = [class_of(state.heap[oid]) for oid in held.refs] if held is not None else []
    found = [machine.project.method(cls, "forward") for cls in classes if cls is not None]
    return [forward for forward in found if forward is not None]


def _modes_of_what_runs(machine: Machine, obj: Obj, forward: FunctionInfo, state: State) -> Modes:
    """Return the modes of a model; where its forward only runs parts that were put into evaluation mode, theirs.

    Parts without a mode may run beside them. A forward that calls `self.train()` is in training mode, whoever calls it.
    """
    if (switch := _own_train(forward)) is not None:
        return frozenset({ModeFact(TRAIN, site_of(forward.module, switch), "train()")})
    cls = class_of(obj)
    if cls is None or "training" in forward.words:
        return obj.modes
    called = {name for name in _parts_called(machine, cls, forward) if not _tells_no_mode(machine, cls, name)}
    held = {name: obj.attrs[name] for name in called if name in obj.attrs}
    parts = [state.heap[part] for value in held.values() for part in value.refs]
    if not parts:
        return obj.modes
    mentioned = (node.attr for node in walk_own(forward) if isinstance(node, ast.Attribute))
    others = {name for name in mentioned if machine.classes.builds_child(cls, name)} | called
    if not all(_tells_no_mode(machine, cls, name) for name in others - held.keys()):
        return obj.modes
    by_hand = all(fact.by_eval for part in parts for fact in part.modes)
    if by_hand and kinds(obj.modes) <= {TRAIN, ENTRY} and all(part.kind == MODEL for part in parts):
        return frozenset().union(*(part.modes for part in parts))
    return obj.modes


def _parts_called(machine: Machine, cls: ClassInfo, forward: FunctionInfo) -> frozenset[str]:
    """Return the attributes that a forward calls, and those that methods compute with which it leaves all else to."""
    called = called_attributes(forward)
    methods = {name: machine.project.method(cls, name) for name in called}
    runs = {name: machine.classes.parts_run(method) for name, method in methods.items() if method is not None}
    through = {name for name, parts in runs.items() if parts and "" not in parts and not _asks_mode(methods[name])}
    return frozenset(called - through).union(*(runs[name] for name in through))


def _asks_mode(method: FunctionInfo | None) -> bool:
    return method is not None and "training" in method.words


def _own_train(forward: FunctionInfo) -> ast.Call | None:
    """Return the `self.train()` with which a forward puts its module into training mode, whoever calls it."""
    for statement in forward.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "train":
            if isinstance(call.func.value, ast.Name) and call.func.value.id == forward.self_name and not call.args:
                return call
    return None


def _tells_no_mode(machine: Machine, cls: ClassInfo, name: str) -> bool:
    """Tell whether an attribute that a forward uses is a part without a mode, or a method that runs no part."""
    method = machine.project.method(cls, name)
    if method is not None:
        return "training" not in method.words and not machine.classes.runs_forward(method)
    return machine.classes.has_no_mode(cls, name)


def _left_behind(obj: Obj, state: State) -> Obj | None:
    """Return a part that was built and put in after eval(), for sure: it is in training mode, and depends on it."""
    if kinds(obj.modes) != {EVAL}:
        return None
    for name, value in obj.attrs.items():
        for inner in value.refs if name not in obj.perhaps else ():
            part = state.heap[inner]
            fresh = part.kind == MODEL and not part.part and all(f.how == f"{part.how}()" for f in part.modes)
            if fresh and part.depends == YES and kinds(part.modes) == {TRAIN}:
                return part
    return None


def _is_mask(given: ast.expr) -> bool:
    """Tell whether a layer is given ones made on the spot: what dropout makes of them is a mask, noise on purpose."""
    return isinstance(given, ast.Call) and last_name(given.func) in ("ones", "ones_like")


def _has_its_loss(machine: Machine, cls: ClassInfo) -> bool:
    """Tell whether a class is a network with its loss, by its name, and runs one beside the loss: `ModleWithLoss`."""
    method = machine.project.method(cls, "forward") if _WITH_LOSS.search(cls.name) else None
    return method is not None and any(map(MODEL_NAME.match, called_attributes(method)))


_WITH_LOSS = re.compile(r"\w(With|And)(Loss(es)?|Criterion)(Wrapper)?$")
_DROPOUT = re.compile(r"torch\.nn\.\w*Dropout")
_MEASURES = re.compile(r"^(?!\w*(Model|Net|Network)(With|And))\w*(Loss|Criterion|Metric|Accuracy$)")
