"""Values computed from forwards: what becomes of them decides whether a forward was training or inference."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from modellint.static.flow.events import ACCUMULATE, FORWARD, Event
from modellint.static.flow.handed import run_callbacks
from modellint.static.flow.machine import Machine
from modellint.static.flow.metering import summed
from modellint.static.flow.state import State, with_elements
from modellint.static.flow.targets import LEAF_HELD, in_order, store
from modellint.static.flow.touching import touch_given
from modellint.static.flow.values import (
    CALLED,
    CONTAINER,
    ELEMENT,
    ENTRY,
    EVAL,
    FIRST_LEAF,
    INSTANCE,
    MODEL,
    NOTHING,
    OFF,
    ON,
    UNKNOWN,
    UNKNOWN_MODES,
    VOLATILE,
    Args,
    FunctionValue,
    Grad,
    Value,
    comes_of_forwards,
    cut_off,
    is_cut,
    is_leaf,
    join_all,
    kinds,
    live,
    only_constant,
    perhaps_cut_off,
    surely_live,
)
from modellint.static.flow.vocabulary import KEEPS_GRAPH, PHASE, WRITES, is_metric
from modellint.static.narrowing import attribute_of
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.facts import taken
from modellint.static.project.names import last_name, names_in

PREDICTIONS = {
    "argmax": "prediction",
    "argmin": "prediction",
    "topk": "prediction",
    "argsort": "prediction",
    "multinomial": "prediction",
    "tolist": "prediction",
    "item": "number",
    "asscalar": "number",
    "asnumpy": "prediction",
    "numpy": "prediction",
    "__float__": "number",
}
"""Methods of a tensor, or of an array of another library, that turn it into a prediction or a number."""

SETS_MODE = re.compile(
    r"eval|infer|freeze|unfreeze|set_mode|train_mode|setup|initiali[sz]e|fuse|to_test|"
    r"prepare(?!_(\w+_)?(inputs?|labels?|batch(es)?|data|targets?|samples?|masks?|tokens?|images?|texts?|prompts?|latents?"
    r"|(vars?|variables?|tensors?|features?|arrays?|sequences?|sentences?|audio|noise|kwargs|args|hidden)$))",
    re.I,
)
"""Names of functions out of sight that may set the mode of a model they are given."""

LOADS = re.compile(r"load|restore|resume|checkpoint|pretrained|weights", re.I)


def result_of(machine: Machine, number: int | None, args: Args, state: State) -> Value:
    """Return the result of the forward `number`."""
    if number is None:
        return Value(taint=args.taint)
    event = machine.recorder.events[number]
    taint = args.taint
    held = [state.heap[oid].attrs.get(LEAF_HELD, NOTHING).taint for v in args.every() for oid in v.refs]
    for leaf in taint.union(*held):
        if is_leaf(leaf):
            event.leaves.add(machine.leaves[FIRST_LEAF - leaf])
    if VOLATILE in taint:
        event.uses.add("volatile")
    return Value(taint=taint | {number})


def holds_graph(value: Value, state: State, depth: int = 0) -> bool:
    """Tell whether a value, or something in the list or object that it may be, was computed and not cut off since."""
    if value.taint and not is_cut(value.taint):
        return True
    held = (item for oid in value.refs if (obj := state.heap.find(oid)) is not None for item in obj.attrs.values())
    return depth < _MAX_DEPTH and any(holds_graph(item, state, depth + 1) for item in held)


_MAX_DEPTH = 3


def backward(machine: Machine, taint: frozenset[int]) -> None:
    """A gradient is computed from `taint`; if it is not in sight what from, from any forward of this analysis.

    Of those only the ones in the same turn of the loops around: what ran before a training loop is not trained in it.
    """
    recorder, chain, root = machine.recorder, machine.frame.chain, machine.frames[0].function
    if comes_of_forwards(taint):
        recorder.mark_training(taint, chain)
        return
    loops = tuple(loop for frame in machine.frames for loop in frame.loops)
    for event in recorder.events:
        inner = len(event.key.chain) > len(chain)
        here = event.root is root and event.key.chain[: len(chain)] == chain and event.loops[: len(loops)] == loops
        if here and not (inner and _in_eval(event)):
            recorder.mark_training(frozenset({recorder.events.index(event)}), chain)


def _in_eval(event: Event) -> bool:
    return all(kinds(snapshot.modes) == {EVAL} for snapshot in event.snapshots)


def method(machine: Machine, receiver: Value, name: str, args: Args, node: ast.Call, state: State) -> Value:
    """Call a method of a value that is no object: a tensor, a number, a text."""
    taint = receiver.taint | args.taint
    if name == "backward":
        backward(machine, taint)
        return NOTHING
    known = only_constant(receiver)
    if known is not None and isinstance(known[0], str):
        return _text_method(machine, known[0], name, args)
    if name in _SIZES:
        return NOTHING
    if name == "requires_grad_":
        off = only_constant(args.get("requires_grad", 0) or NOTHING) == (False,)
        return Value(taint=taint if off else taint | {machine.leaf(node)})
    if name in PREDICTIONS:
        machine.recorder.use(taint, PREDICTIONS[name])
        if name == "numpy" and state.grad.state != OFF:
            machine.recorder.use(frozenset(surely_live(receiver.taint)), "array")
        taint = cut_off(taint)
    elif name in ("max", "min", "sort") and args.every():
        machine.recorder.use(taint, "prediction")
    elif name == "sample" and _is_of_a_distribution(machine, node):
        machine.recorder.use(taint, "prediction")
        taint = cut_off(taint)
    elif name == "detach":
        machine.recorder.use(taint, "detached")
        taint = cut_off(taint)
    else:
        if WRITES.search(name):
            machine.recorder.use(receiver.taint, "reported")  # `to_pil_image(restored).save(path)`
        escape(machine, node, args, state, name, computes=bool(receiver.taint))
        if args.taint and not receiver.taint:
            taint = after_unknown(Value(taint=taint), node).taint
        elif name not in _HELD:
            taint = state.computed(taint)
    return Value(taint=taint | run_callbacks(machine, name, args, node, state))


def _is_of_a_distribution(machine: Machine, call: ast.Call) -> bool:
    """Tell whether what is drawn from is a distribution of torch, written on the spot: its sample has no graph."""
    drawn_from = call.func.value if isinstance(call.func, ast.Attribute) else None
    if not isinstance(drawn_from, ast.Call):
        return False
    made = machine.project.resolve_in(machine.frame.function, drawn_from.func)
    return made is not None and (made.dotted or "").startswith("torch.distributions.")


def after_unknown(value: Value, node: ast.Call) -> Value:
    """Return what comes out of a function out of sight: only a loss is taken to keep the graph of what went in."""
    if not value.taint or KEEPS_GRAPH.search(ast.unparse(node.func)):
        return value
    return value._replace(taint=perhaps_cut_off(value.taint))


_HELD = frozenset({"get", "items", "values", "pop", "copy", "to", "cpu", "cuda", "float"})
"""Methods that give what something holds, or itself, with the graph it has."""

_SIZES = frozenset({"size", "numel", "nelement", "dim", "ndimension", "get_device", "is_cuda"})


def _text_method(machine: Machine, text: str, name: str, args: Args) -> Value:
    if name in ("lower", "upper", "strip") and not args.every():
        return Value(consts=frozenset({getattr(text, name)()}))
    given = only_constant(args.positional[0]) if len(args.positional) == 1 else None
    if name in ("startswith", "endswith") and given is not None and isinstance(given[0], str):
        return Value(consts=frozenset({getattr(text, name)(given[0])}))
    machine.recorder.use(args.taint, "printed")  # `"loss {}".format(loss)`
    return NOTHING


def escape(machine: Machine, node: ast.Call, args: Args, state: State, name: str = "", computes: bool = False) -> None:
    """Arguments go to a function out of sight: a metric, or something that may change the models it is given.

    `computes`: it is the method of a tensor, or of a distribution, whose result is followed.
    """
    func = node.func
    name = name or (func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else "")
    taint = with_elements(args, state)
    if is_metric(name, node):
        machine.recorder.use(taint, "reported")
    if taint and name in ("print", "info", "debug", "log"):
        machine.recorder.use(taint, "printed")
    if name == "backward" or (taint and _steps(name, node)):
        backward(machine, taint)
    elif taint and (computes or (WRITES.search(name) and _is_a_function(machine, func))):
        machine.recorder.use(taint, "passed")
    elif taint:
        machine.recorder.pass_on(args, state)
    for value in args.every():
        for oid in value.refs:
            if state.heap[oid].kind == INSTANCE and isinstance(state.heap[oid].cls, ClassInfo):
                _run_methods(machine, oid, node, state)
    touch_given(machine, node, args, state)
    sets, loads = SETS_MODE.search(name), LOADS.search(name)
    if not sets and not loads:
        return
    for value in args.every():
        for oid in value.refs:
            obj = state.heap[oid]
            if sets or any(key in args.keywords for key in ("eval", "eval_mode", "is_eval")):
                # no longer a mere call's result, which whoever loads weights into it would take for new
                obj = obj._replace(modes=UNKNOWN_MODES, how="" if obj.how == CALLED else obj.how)
            if loads:
                obj = obj._replace(weights=frozenset({"loaded", "unknown"}))
            state.heap[oid] = obj


def _is_a_function(machine: Machine, func: ast.expr) -> bool:
    """Tell whether a function is called, `save_image` or `torch.save`, and no method of an object."""
    return isinstance(func, ast.Name) or machine.project.resolve_in(machine.frame.function, func) is not None


def _steps(name: str, node: ast.Call) -> bool:
    """Tell whether a call differentiates a loss and takes a step: `loss_scaler(loss, optimizer, clip_grad=...)`."""
    if not _STEPS.search(name):
        return False
    return any(k.arg in ("parameters", "create_graph") for k in node.keywords) or any(
        "optim" in (last_name(argument) or "") for argument in node.args[1:]
    )


_STEPS = re.compile(r"scaler|backward|(^|_)(step|update)(_|$)")


_MAX_METHODS = 12


def _run_methods(machine: Machine, oid: int, node: ast.Call, state: State) -> None:
    """An object of the project goes to code out of sight, which will call its methods: run those that use a model."""
    obj = state.heap[oid]
    cls = obj.cls
    assert isinstance(cls, ClassInfo)
    key = (oid, machine.frame.chain)
    models = [r for v in obj.attrs.values() for r in v.refs if state.heap[r].kind == MODEL]
    if machine.recorder.muted or key in machine.escaped or len(machine.frames) > 3 or not models:
        return
    if any(frame.receiver is not None and oid in frame.receiver.refs for frame in machine.frames):
        return  # `self`, from inside its own methods
    machine.escaped.add(key)
    for method in list(cls.methods.values())[:_MAX_METHODS]:
        plain = not (method.name.startswith("__") or method.is_property or method.is_static or method.is_classmethod)
        if plain and not set(obj.attrs).isdisjoint(method.callees):
            value = FunctionValue(method, None, method.name)
            later = state.over()
            if later.grad.state != OFF:
                served = _SERVES.match(last_name(node.func) or "") is not None
                served = served and _READIES.search(machine.frame.function.module.text) is None
                later.grad = Grad(ON if served else UNKNOWN, None)  # else whoever calls it decides
            machine.call(value, Value(refs=frozenset({oid})), Args(), node, later)


_SERVES = re.compile(r"^add_\w+_to_server$")
"""What gRPC generates: a server calls the methods of what it is given in threads of its own, where autograd is on."""

_READIES = re.compile(r"\b(interceptors|initializer)\b")
"""Arguments of servers and pools by which something else is run around, or before, the methods."""


def _records(event: Event) -> bool:
    """Tell whether a forward may have left a graph behind its result."""
    return any(snapshot.grad.state != OFF for snapshot in event.snapshots)


def accumulated(
    machine: Machine, node: ast.AST, target: str, added: Value, state: State, detail: str = ""
) -> frozenset[int]:
    """Note that a loop adds up, or collects, results together with their graphs; return its number as a taint."""
    forwards = list(surely_live(added.taint))
    if not forwards or state.grad.state not in (ON, ENTRY):
        return frozenset()
    events = machine.recorder.events
    source = next((n for n in forwards if events[n].key.kind == FORWARD and _records(events[n])), None)
    if source is None or state.heap.find(events[source].key.oid) is None:
        return frozenset()  # of nothing, or of a model that another branch alone knows
    number = machine.note(ACCUMULATE, node, events[source].key.oid, state, target, detail)
    if number is None:
        return frozenset()
    events[number].source = events[source]
    return frozenset({number})


def _collected(machine: Machine, node: ast.Call, item: Value, state: State) -> frozenset[int]:
    """Note that a loop that trains in each turn, be it by a call, collects results together with their graphs."""
    item = item.with_taint(with_elements(Args((item,)), state))
    if not item.taint or not isinstance(node.func, ast.Attribute):
        return frozenset()
    if not (
        trains_in_each_turn(machine)
        or trains_in_each_call(machine, node.func.value)
        or is_trained_in_a_call(machine, item)
    ):
        return frozenset()
    events = machine.recorder.events
    if any(events[number].key.kind == ACCUMULATE for number in live(item.taint)):
        return frozenset()  # the sum that is collected was noted before
    return accumulated(machine, node, ast.unparse(node.func.value), item, state, COLLECTED)


def metered(machine: Machine, method: FunctionInfo, args: Args, node: ast.Call, state: State) -> None:
    """Note that a loop has an object add up results together with their graphs: `losses.update(loss)`."""
    if not machine.frame.loops or not isinstance(node.func, ast.Attribute) or not args.taint:
        return
    names = summed(method)
    if names and method.cls is not None and _PLAIN.issuperset(machine.project.ancestry(method.cls)[1]):
        given = [args.get(name, position) for position, name in enumerate(taken(method)) if name in names]
        if method.node is not None and method.node.args.kwarg is not None and method.node.args.kwarg.arg in names:
            given += [value for name, value in args.keywords.items() if name not in taken(method)]
        for added in given:
            if added is not None:
                accumulated(machine, node, ast.unparse(node.func.value), added, state, METERED)


_PLAIN = frozenset({"object", "abc.ABC", "typing.Generic", "typing.Protocol"})
"""Bases that change nothing of what a method does: others may call it under a switch of theirs."""


def trains_in_each_turn(machine: Machine) -> bool:
    """Tell whether the loop around computes gradients in each of its turns."""
    loops = machine.frame.loops
    return bool(loops) and "backward" in loops[-1].calls


def trains_in_each_call(machine: Machine, target: ast.expr) -> bool:
    """Tell whether `target` is an attribute of the object whose method computes gradients, once in each call.

    Or the loop that calls it does.
    """
    function = machine.frame.function
    mine = function.self_name is not None and attribute_of(target, function.self_name) is not None
    if not mine or machine.frame.loops:
        return False
    around = (frame.loops[-1] for frame in machine.frames[:-1] if frame.loops)
    return "backward" in function.callees or any("backward" in loop.calls for loop in around)


def is_trained_around(machine: Machine, added: Value) -> bool:
    """Tell whether the loop around the innermost one has just computed gradients of what the inner one adds up."""
    events, outer = machine.recorder.events, machine.frame.loops[-2:-1]
    trained = any(events[number].training for number in surely_live(added.taint))
    return trained and any("backward" in loop.calls for loop in outer)


def is_trained_in_a_call(machine: Machine, added: Value) -> bool:
    """Tell whether what a loop adds up comes of a call in the same turn that has computed its gradients by itself."""
    chain, events = machine.frame.chain, [machine.recorder.events[number] for number in surely_live(added.taint)]
    ways = [event.trained_from for event in events if event.training and event.trained_from is not None]
    below = all(len(way) > len(chain) and way[: len(chain)] == chain for way in ways)
    return bool(machine.frame.loops) and bool(events) and len(ways) == len(events) and below


def keyed_by_turn(machine: Machine, target: ast.expr, state: State) -> bool:
    """Tell whether each turn of the loops around training puts something under a key of its own into a dict."""
    if not isinstance(target, ast.Subscript) or not trains_in_each_turn(machine):
        return False
    key = names_in(target.slice)
    counts = all(
        not loop.over.isdisjoint(("enumerate", "range")) and not loop.given.isdisjoint(key)
        for loop in machine.frame.loops
    )
    owner = machine.eval(target.value, state) if counts else NOTHING
    return bool(owner.refs) and all(
        state.heap[oid].kind == CONTAINER and state.heap[oid].how == "dict" for oid in owner.refs
    )


# how a loop keeps results together with their graphs, where it does not just add them up
COLLECTED, AVERAGED, METERED = "collected", "averaged", "metered"


def _are_phases(keys: Collection[str]) -> bool:
    """Tell whether the keys of a dict say which of its values is trained with, and which ones are held out."""
    trained = [key for key in keys if _TRAINING.match(key)]
    return 0 < len(trained) < len(keys) and all(key in trained or PHASE.match(key) for key in keys)


_TRAINING = re.compile(r"train(ing)?$")


def _listed(machine: Machine, oid: int, what: str, state: State) -> Value:
    """Return the list of the keys of a dict whose keys are phases, or that of its `items`."""
    attrs: dict[str, Value] = {}
    for key, value in state.heap[oid].attrs.items():
        item = Value(consts=frozenset({key}))
        if what == "items":
            pair = machine.number(("item", oid, key))
            state.heap[pair] = state.heap[oid]._replace(attrs={"0": item, "1": value}, how="list", name="")
            item = Value(refs=frozenset({pair}))
        attrs[str(len(attrs))] = item
    holder = machine.number((what, oid))
    state.heap[holder] = state.heap[oid]._replace(attrs=attrs, how="list", name="")
    return Value(refs=frozenset({holder}))


def container_method(machine: Machine, oid: int, name: str, args: Args, node: ast.Call, state: State) -> Value:
    """Call a method of a list, tuple, set or dict."""
    obj = state.heap[oid]
    me = Value(refs=frozenset({oid}))
    given = args.positional
    if name in ("append", "add", "appendleft", "put", "push") and given:
        ordered = name in ("append", "add") and obj.how == "list" and not machine.frame.loops
        item = given[0].with_taint(_collected(machine, node, given[0], state)) if name == "append" else given[0]
        store(state, oid, str(len(obj.attrs)) if ordered and in_order(obj) else ELEMENT, item)
        return NOTHING
    if name in ("extend", "update") and given:
        for inner in given[0].refs:
            for key, value in state.heap[inner].attrs.items():
                store(state, oid, key if obj.how == "dict" else ELEMENT, value)
        if given[0].taint and not given[0].refs:  # the rows of a tensor, which carry its graph
            store(state, oid, ELEMENT, Value(taint=given[0].taint))
        return NOTHING
    if name == "insert" and len(given) == 2:
        store(state, oid, ELEMENT, given[1])
        return NOTHING
    if name in ("get", "pop", "setdefault"):
        known = only_constant(given[0]) if given else None
        if known and str(known[0]) in obj.attrs:
            return obj.attrs[str(known[0])]
        return join_all(obj.attrs.values())
    if name in ("items", "keys") and obj.how == "dict" and _are_phases(obj.attrs):
        return _listed(machine, oid, name, state)
    if name == "items":
        pair = {"0": NOTHING, "1": join_all(obj.attrs.values())}
        inner_pair = machine.container(node, state, pair, "list")
        holder = machine.number(("items", oid))
        state.heap[holder] = obj._replace(attrs={ELEMENT: inner_pair}, how="list", name="")
        return Value(refs=frozenset({holder}))
    if name == "values":
        holder = machine.number(("values", oid))
        state.heap[holder] = obj._replace(how="list", name="")
        return Value(refs=frozenset({holder}))
    if name in ("keys", "index", "count"):
        return NOTHING
    if name == "copy":
        return me
    taint = frozenset[int]().union(*(v.taint for v in obj.attrs.values())) if obj.attrs else frozenset()
    if name == "backward":
        backward(machine, taint)
    if name in PREDICTIONS:  # of a tensor, which another way gives
        return method(machine, Value(taint=taint), name, args, node, state)
    return Value(taint=taint | args.taint)
