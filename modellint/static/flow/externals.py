"""Calls of what lies outside the project: builtins, torch, and libraries by what is known of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TypeAlias

from modellint.static.classes import first_part
from modellint.static.flow import data, libraries
from modellint.static.flow.annotated import declare_as
from modellint.static.flow.construct import construct_external
from modellint.static.flow.events import EXPORT, FORWARD, GRAPH_MADE
from modellint.static.flow.forwards import looks_like_model, with_parts_left_behind
from modellint.static.flow.handed import run_callbacks
from modellint.static.flow.libraries import IDENTITY
from modellint.static.flow.machine import Machine
from modellint.static.flow.modes import set_mode
from modellint.static.flow.objects import call_method
from modellint.static.flow.state import State, with_elements
from modellint.static.flow.targets import iterate, member_by_name, set_attribute, unpacked
from modellint.static.flow.touching import touch_value
from modellint.static.flow.values import (
    CONTAINER,
    ELEMENT,
    FIRST_LEAF,
    INSTANCE,
    MODEL,
    NOTHING,
    OFF,
    OPAQUE,
    UNKNOWN,
    UNKNOWN_MODES,
    UNKNOWN_WEIGHTS,
    VOLATILE,
    Args,
    External,
    Grad,
    ModuleValue,
    Obj,
    Partial,
    SuperProxy,
    Value,
    constant,
    cut_off,
    is_leaf,
    join,
    join_all,
    live,
    only_constant,
)
from modellint.static.flow.vocabulary import ESTIMATORS
from modellint.static.project import ClassInfo, Symbol
from modellint.static.project.facts import argument_given
from modellint.static.project.names import last_name

Handler: TypeAlias = Callable[[Machine, Args, ast.Call, State], Value]
EXPORTS = frozenset(
    {
        "torch.onnx.export",
        "torch.export.export",
        "torch.export.export_for_training",
        "torch.jit.trace",
        "torch.jit.trace_module",
        "torch.jit.script",
        "torch.quantization.convert",
        "torch.ao.quantization.convert",
    }
)
_GRADIENT = re.compile(
    r"^torch\.(autograd\.(grad|backward|functional\.\w+)|func\.(grad\w*|vjp|jvp|jac\w+|hessian|linearize))$"
)
_PREDICTION = re.compile(r"^(torch\.(argmax|topk|max|sort|argsort|argmin|multinomial)|numpy\.|np\.|sklearn\.)")


def call_external(machine: Machine, dotted: str, args: Args, node: ast.Call, state: State) -> Value:
    """Evaluate a call of the outside name `dotted`."""
    if dotted.startswith("builtins."):
        handler = _BUILTINS.get(dotted[9:])
        if handler is not None:
            return handler(machine, args, node, state)
        data.escape(machine, node, args, state, dotted[9:])
        return Value(taint=args.taint)
    if dotted.startswith("torch.nn.Module.") and args.positional and args.positional[0].refs:
        rest = args._replace(positional=args.positional[1:])
        return call_method(machine, args.positional[0], dotted.rsplit(".", 1)[-1], rest, node, state)
    handler = _FUNCTIONS.get(dotted)
    if handler is not None:
        return handler(machine, args, node, state)
    knowledge = machine.knowledge
    if (fact := knowledge.contexts.get(dotted)) is not None:
        return libraries.context(machine, fact, args, node, state)
    if dotted in EXPORTS:
        _export(machine, dotted, args, node, state)
    if (fact := knowledge.wrappers.get(dotted)) is not None:
        return libraries.wrap(machine, dotted, fact, args, node, state)
    if (fact := knowledge.entry_points.get(dotted)) is not None:
        return libraries.act(machine, dotted, fact, args, node, state)
    if (fact := knowledge.runners.get(dotted)) is not None:
        return libraries.run_by(machine, dotted, fact, args, node, state)
    if (fact := knowledge.loaders.get(dotted)) is not None:
        return libraries.load(machine, dotted, fact, args, node, state)
    last = dotted.rsplit(".", 1)[-1]
    if knowledge.is_library(dotted) and last[:1].isupper() and _is_module_class(machine, dotted):
        return construct_external(machine, dotted, args, node, state)
    if _GRADIENT.match(dotted):
        inputs = args.get("inputs", 1) if last == "grad" else None
        led_to = _led_to(machine, args.taint, inputs) if inputs is not None else frozenset[int]()
        data.backward(machine, led_to or args.taint)
        for value in args.positional:
            if value.symbols:
                data.backward(machine, machine.call_value(value, Args(args.positional[1:]), node, state).taint)
        taint = args.taint if "create_graph" in args.keywords or args.starred is not None else cut_off(args.taint)
        return Value(taint=taint | _graph_made(machine, args, node, state))
    if dotted.startswith(("torch.", "numpy.", "math.")) and not dotted.startswith("torch.optim"):
        if dotted.startswith("torch.") and last.endswith("_like"):
            return NOTHING  # `torch.zeros_like(y)` has the shape of a result, and none of its numbers
        taint = with_elements(args, state)
        if dotted.startswith("math."):  # which makes a float of a tensor
            machine.recorder.use(taint, "number")
            taint = cut_off(taint)
        if _PREDICTION.match(dotted):
            if last != "max" or len(args.every()) > 1:  # of one argument it is a number, as a mean is
                machine.recorder.use(taint, "prediction")
                taint = cut_off(taint)
        # `Parameter(w, requires_grad=True)` that a module is built with is a weight, elsewhere it may be an input
        maker = machine.frame.function
        weight = last == "Parameter" and maker.name == "__init__"
        weight = weight and maker.cls is not None and machine.classes.is_module(maker.cls)
        leaf = not weight and only_constant(args.keywords.get("requires_grad", NOTHING)) == (True,)
        taint = state.computed(taint)
        taint |= run_callbacks(machine, last, args, node, state)
        if not dotted.startswith("torch.nn.init."):
            loads = data.LOADS.search(last) is not None or last.startswith("set_model")
            # `vector_to_parameters(v, net.parameters())`, `set_model_state_dict(net, state)`
            for value in args.every():
                touch_value(machine, value if loads else Value(symbols=value.symbols), state)
        if last == "save":
            data.escape(machine, node, args, state, last)
        return Value(taint=taint | {machine.leaf(node)} if leaf else taint)
    data.escape(machine, node, args, state, last)
    taint = run_callbacks(machine, last, args, node, state)
    if first_part(dotted) in ESTIMATORS:
        return Value(taint=args.taint)
    return data.after_unknown(machine.out_of_sight(node, args, state), node).with_taint(taint)


def _led_to(machine: Machine, taint: frozenset[int], inputs: Value) -> frozenset[int]:
    """Return the forwards among `taint` that tensors marked to require a gradient have led to, as far as is known.

    A gradient for those tensors says nothing of what ran beside them: the features that a guided sampler is given.
    It needs the graphs of the gradients that it is a gradient of, though.
    """
    marked = {machine.leaves[FIRST_LEAF - leaf] for leaf in inputs.taint if is_leaf(leaf)}
    events = machine.recorder.events
    forwards = frozenset(number for number in taint if number >= 0 and not marked.isdisjoint(events[number].leaves))
    gradients = frozenset(number for number in live(taint) if events[number].key.kind == GRAPH_MADE)
    return forwards and forwards | gradients


def _graph_made(machine: Machine, args: Args, node: ast.Call, state: State) -> frozenset[int]:
    """Note that a gradient is computed together with its own graph; return that as a taint."""
    events = machine.recorder.events
    source = next((n for n in live(args.taint) if events[n].key.kind == FORWARD), None)
    if source is None or only_constant(args.keywords.get("create_graph", NOTHING)) != (True,):
        return frozenset()
    number = machine.note(GRAPH_MADE, node, events[source].key.oid, state, events[source].text)
    return frozenset() if number is None else frozenset({number})


def _is_module_class(machine: Machine, dotted: str) -> bool:
    if machine.knowledge.module_bases.get(dotted) is None:
        return False
    return not dotted.startswith("torch.nn.utils.") and dotted != "torch.nn.Parameter"


def _export(machine: Machine, dotted: str, args: Args, node: ast.Call, state: State) -> None:
    given = args.get("model", 0) or args.get("mod", 0) or args.get("obj", 0)
    if given is None or args.keywords.get("training") is not None:
        return
    detail = dotted
    if dotted == "torch.onnx.export":
        dynamo = only_constant(args.keywords.get("dynamo", NOTHING))
        detail = f"{dotted}(dynamo={dynamo[0] if dynamo else None})"
    for oid in given.refs:
        obj = state.heap[oid]
        if obj.kind in (MODEL, OPAQUE):
            state.heap[oid] = with_parts_left_behind(obj, state)
            machine.note(EXPORT, node, oid, state, ast.unparse(node.func), detail)
            state.heap[oid] = obj


# -- functions that the engine itself understands ------------------------------------------------------------------


def _partial(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    if not args.positional:
        return NOTHING
    return Value(symbols=(Partial(args.positional[0], args._replace(positional=args.positional[1:])),))


def _cast(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    """`cast(Net, net)` gives back its argument, and says of what class that is."""
    value = args.get("val", 1) or NOTHING
    declare_as(machine, args.get("typ", 0) or NOTHING, value, state)
    return value


def _identity_maker(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    return Value(symbols=(External(IDENTITY),))


def _first(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    return args.positional[0] if args.positional else NOTHING


def _functional_call(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    """Run a module with the parameters that a call gives, of which nothing is seen, nor if they have a graph."""
    given = args.get("args", 2) or NOTHING
    listed = unpacked(given, state)
    inputs = Args((given,) if listed is None else tuple(listed))
    called = ast.copy_location(ast.Call(argument_given(node, ("module",), 0) or node.func, [], []), node)
    saved, state.grad = state.grad, state.grad if state.grad.state == OFF else Grad(UNKNOWN, None)
    result = NOTHING
    for oid in (args.get("module", 0) or NOTHING).refs:
        weights = state.heap[oid].weights
        state.heap[oid] = state.heap[oid]._replace(weights=UNKNOWN_WEIGHTS)
        result = join(result, machine.call_value(Value(frozenset({oid})), inputs, called, state))
        state.heap[oid] = state.heap[oid]._replace(weights=weights)
    state.grad = saved
    return result.with_taint(args.taint)


def _data_parallel(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    """Run a module on several devices: `data_parallel(net, x, device_ids)` is `net(x)`."""
    given = args.get("inputs", 1) or NOTHING
    listed = unpacked(given, state)
    inputs = Args((given,) if listed is None else tuple(listed))
    called = ast.copy_location(ast.Call(argument_given(node, ("module",), 0) or node.func, [], []), node)
    return machine.call_value(args.get("module", 0) or NOTHING, inputs, called, state).with_taint(args.taint)


def _variable(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    taint = args.taint
    if only_constant(args.keywords.get("requires_grad", NOTHING)) == (True,):
        taint |= {machine.leaf(node)}
    if only_constant(args.keywords.get("volatile", NOTHING)) == (True,):
        taint |= {VOLATILE}
    return Value(taint=taint)


def _nullcontext(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    return Value(symbols=(External(IDENTITY),))


def _map(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    if len(args.positional) < 2:
        return NOTHING
    items = tuple(iterate(machine, v, state, node) for v in args.positional[1:])
    result = machine.call_value(args.positional[0], Args(items), node, state)
    return machine.container(node, state, {ELEMENT: result}, "list")


def _zip(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    items = {str(index): iterate(machine, v, state, node) for index, v in enumerate(args.positional)}
    return _rows(machine, items, node, state)


def _enumerate(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    given = args.positional[0] if args.positional else NOTHING
    return _rows(machine, {"0": NOTHING, "1": iterate(machine, given, state, node)}, node, state)


def _rows(machine: Machine, items: dict[str, Value], node: ast.Call, state: State) -> Value:
    row = machine.container(node, state, items, "list")
    obj = state.heap[next(iter(row.refs))]
    holder = machine.number(("rows", node.lineno, node.col_offset, machine.frame.module.path, machine.frame.chain))
    state.heap[holder] = obj._replace(attrs={ELEMENT: row})
    return Value(refs=frozenset({holder}), taint=row.taint)


def _next(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    return iterate(machine, args.positional[0], state, node) if args.positional else NOTHING


def _getattr(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    known = only_constant(args.positional[1]) if len(args.positional) > 1 else None
    if known is None or not isinstance(known[0], str):
        chosen = member_by_name(machine, args.positional[0], state) if args.positional else NOTHING
        if chosen.symbols:
            return chosen
        named = node.args[1] if min(len(args.positional), len(node.args)) > 1 else node
        if _PICKS_MODE.search(last_name(named) or ""):
            for oid in args.positional[0].refs:  # `getattr(net, mode)()`
                if state.heap[oid].kind == MODEL or looks_like_model(state.heap[oid]):
                    set_mode(oid, UNKNOWN_MODES, state)
        seen = bool(args.positional) and not _runs_graphs(machine, args.positional[0], state)
        seen = seen and not (len(node.args) > 1 and _is_a_method_picked(machine, node))
        held = _every_attribute(args.positional[0], state) if seen else NOTHING
        return held if held.refs else machine.out_of_sight(node, args, state)
    made = ast.copy_location(ast.Attribute(node.args[0], known[0], ast.Load()), node)
    return machine.eval(made, state)


def _is_a_method_picked(machine: Machine, node: ast.Call) -> bool:
    """Tell whether a variable names what is called on the spot: `getattr(lm, kind)(rows)` asks one of its methods.

    An object asks itself for what it keeps, too: `getattr(self, f"head{i}")(x)`.
    """
    function, asked = machine.frame.function, node.args[0]
    if isinstance(asked, ast.Name) and asked.id == function.self_name:
        return False
    named = isinstance(node.args[1], (ast.Name, ast.Attribute))
    return named and any(call.func is node for call in function.calls)


_PICKS_MODE = re.compile(r"mode$|phase$|stage$|^(train|eval)")


def _runs_graphs(machine: Machine, value: Value, state: State) -> bool:
    """Tell whether an object is one of torch's interpreters, which pick a method by the name of an operation."""
    classes = (state.heap[oid].cls for oid in value.refs)
    return any(
        base.startswith("torch.fx.")
        for cls in classes
        if isinstance(cls, ClassInfo)
        for base in machine.project.ancestry(cls)[1]
    )


def _every_attribute(value: Value, state: State) -> Value:
    """Return whatever an attribute of an object of the project may be."""
    return join_all(
        held for oid in value.refs if state.heap[oid].kind == INSTANCE for held in state.heap[oid].attrs.values()
    )


def _vars(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    held = _every_attribute(args.positional[0], state) if args.positional else NOTHING
    return machine.container(node, state, {ELEMENT: held}, "dict")


def _own_names(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    """Return the file itself for `globals()`, which is mostly asked for a class or function by its name."""
    module = machine.frame.module
    return Value(symbols=(ModuleValue(Symbol(machine.project.paths.dotted(module.path), module)),))


def _named(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    """Return what `eval("Net")` names; of anything else that it evaluates nothing is known."""
    known = only_constant(args.positional[0]) if len(args.positional) == 1 else None
    if known is None or not isinstance(known[0], str) or not known[0].isidentifier():
        return NOTHING
    return machine.eval(ast.copy_location(ast.Name(known[0], ast.Load()), node), state)


def _setattr(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    known = only_constant(args.positional[1]) if len(args.positional) == 3 else None
    if known is not None and isinstance(known[0], str):
        set_attribute(machine, args.positional[0], known[0], args.positional[2], state, node)
    elif len(args.positional) == 3 and known is None:
        _forget_constants(args.positional[0], state)
    return NOTHING


def _forget_constants(owner: Value, state: State) -> None:
    """Forget the constants that objects hold, any of which an attribute set by a name that is not known may replace."""
    for oid in owner.refs:
        obj = state.heap[oid]
        if obj.kind == INSTANCE and not obj.proven:
            kept = {name: NOTHING if only_constant(value) is not None else value for name, value in obj.attrs.items()}
            state.heap[oid] = obj._replace(attrs=kept)


def _super(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    frame = machine.frame
    function = frame.function
    while function.cls is None and function.parent is not None:
        function = function.parent
    receiver = frame.receiver
    if receiver is None and function.is_classmethod and function is frame.function:
        receiver = state.variables.get((frame.id, function.self_name or ""))  # the class, which is an argument
    if function.cls is None or receiver is None:
        return NOTHING
    return Value(symbols=(SuperProxy(function.cls, receiver),))


def _print(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    machine.recorder.use(args.taint, "printed")
    return NOTHING


def _number(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    machine.recorder.use(args.taint, "number")
    return Value(taint=cut_off(args.taint))


def _collect(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    if not args.positional:
        return machine.container(node, state, {}, "list")
    given = args.positional[0]
    if given.refs and all(state.heap[oid].kind == CONTAINER for oid in given.refs):
        return given
    if given.symbols:
        return given
    return machine.container(node, state, {ELEMENT: iterate(machine, given, state, node)}, "list").with_taint(
        given.taint
    )


def _dict(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    if args.positional:
        return args.positional[0]
    return machine.container(node, state, dict(args.keywords), "dict")


def _defaultdict(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    """Return a dict with what its factory makes under any key."""
    attrs = {ELEMENT: machine.call_value(args.positional[0], Args(), node, state)} if args.positional else {}
    return machine.container(node, state, attrs, "dict")


def _namespace(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    obj = Obj(INSTANCE, None, "", machine.site(node), "namespace", UNKNOWN_MODES, UNKNOWN_WEIGHTS, args.keywords)
    return machine.allocate(node, state, obj, "namespace")


def _picture(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    """Torchvision draws and saves pictures under no_grad, without a graph (torchvision/utils.py:24 and 256, 0.28.0)."""
    taint = with_elements(args, state)
    for use in ("reported", "detached"):
        machine.recorder.use(taint, use)
    return Value(taint=cut_off(taint))


def _nothing(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    return Value(taint=args.taint)


def _isinstance(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    """Return whether what is for certain a model is an `nn.Module`, and that it is no dict or list; of a dict, that it
    is one.

    What is called like a model, and is none, has no mode that could be wrong.
    """
    if len(args.positional) != 2:
        return NOTHING
    asked, classes = args.positional
    objects = [state.heap[oid] for oid in asked.refs]
    if objects and all(obj.how == "dict" and obj.attrs for obj in objects) and last_name(node.args[1]) == "dict":
        return constant(True)
    known = bool(objects) and all(obj.kind == MODEL and obj.proven and obj.how for obj in objects)
    module = {symbol.dotted for symbol in classes.symbols if isinstance(symbol, External)} == {"torch.nn.Module"}
    alike = bool(objects) and all(obj.kind in (MODEL, OPAQUE) and looks_like_model(obj) for obj in objects)
    if asked.consts is None and module and alike and len(classes.symbols) == 1:
        return constant(True)
    # what a file holds is a model, or a dict of its weights
    known = known or (alike and all(obj.cls != "torch.load" for obj in objects))
    if not known or asked.consts is not None:
        return NOTHING
    named = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else node.args[1:]
    plain = all(isinstance(cls, ast.Name) and cls.id in ("dict", "list", "tuple", "set", "str") for cls in named)
    return constant(False) if plain else NOTHING


def _imported(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    """Return a module that is imported by a name at run time, which may be any: what it gives is out of sight."""
    return Value(symbols=(External("<imported>"),))


def _hasattr(machine: Machine, args: Args, node: ast.Call, state: State) -> Value:
    """Return what `hasattr(thing, "name")` gives, where all that the thing may be has a method of that name."""
    if len(args.positional) != 2 or not args.positional[0].refs:
        return NOTHING
    known = only_constant(args.positional[1])
    classes = [state.heap[oid].cls for oid in args.positional[0].refs]
    if known is None or any(
        not isinstance(cls, ClassInfo) or machine.project.method(cls, str(known[0])) is None for cls in classes
    ):
        return NOTHING
    return Value(consts=frozenset({True}))


_BUILTINS: dict[str, Handler] = {
    "map": _map,
    "filter": lambda m, a, n, s: a.positional[1] if len(a.positional) > 1 else NOTHING,
    "zip": _zip,
    "enumerate": _enumerate,
    "next": _next,
    "iter": _first,
    "reversed": _first,
    "sorted": _first,
    "list": _collect,
    "tuple": _collect,
    "set": _collect,
    "dict": _dict,
    "getattr": _getattr,
    "__import__": _imported,
    "vars": _vars,
    "globals": _own_names,
    "eval": _named,
    "setattr": _setattr,
    "super": _super,
    "print": _print,
    "float": _number,
    "int": _number,
    "str": _number,
    "round": _number,
    "len": lambda m, a, n, s: NOTHING,
    "range": _nothing,
    "isinstance": _isinstance,
    "hasattr": _hasattr,
    "callable": lambda m, a, n, s: NOTHING,
    **dict.fromkeys(("sum", "max", "min"), lambda m, a, n, s: Value(taint=with_elements(a, s))),
    "bool": lambda m, a, n, s: a.positional[0] if a.positional else NOTHING,
}

_WEIGHTS = ("torchvision.models.get_weight", "torchvision.models.get_model_weights")
"""What looks up the weights of a builder by a name: they are never None (torchvision/models/_api.py:91, 0.28.0)."""

_PICTURES = "make_grid save_image draw_bounding_boxes draw_segmentation_masks draw_keypoints flow_to_image".split()

_DATA_PARALLEL = tuple(f"torch.nn.parallel.{name}data_parallel" for name in ("", "data_parallel."))
"""Runs a module on several devices, in the mode that it is in (torch/nn/parallel/data_parallel.py, 2.13.0)."""

_FUNCTIONS: dict[str, Handler] = {
    "collections.defaultdict": _defaultdict,
    **{f"torchvision.utils.{name}": _picture for name in _PICTURES},
    **dict.fromkeys(_WEIGHTS, lambda m, a, n, s: NOTHING),
    IDENTITY: _first,
    "typing.cast": _cast,
    "functools.partial": _partial,
    "torch.func.functional_call": _functional_call,
    "torch.nn.utils.stateless.functional_call": _functional_call,
    **dict.fromkeys(_DATA_PARALLEL, _data_parallel),
    "functools.wraps": _identity_maker,
    "functools.lru_cache": _identity_maker,
    "contextlib.nullcontext": _nullcontext,
    "itertools.chain": lambda m, a, n, s: join_all(a.positional),
    "importlib.import_module": _imported,
    "types.SimpleNamespace": _namespace,
    "argparse.Namespace": _namespace,
    **dict.fromkeys(("munch.Munch", "easydict.EasyDict", "addict.Dict", "box.Box", "dotmap.DotMap"), _dict),
    "torch.autograd.Variable": _variable,
    "torch.autograd.variable.Variable": _variable,
}
