"""Is a model asked in earnest whose weights nothing in sight ever loaded or trained?"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from modellint.static.context import FileContext
from modellint.static.evidence import PREDICTS, is_shape_check
from modellint.static.flow.events import Event, Snapshot
from modellint.static.flow.frames import call_at
from modellint.static.flow.values import OFF, RANDOM, Site
from modellint.static.guards import own, values_bound, values_of
from modellint.static.naming import snake
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.callers import is_imported
from modellint.static.project.names import last_name
from modellint.static.project.trees import walk
from modellint.static.purpose import (
    acts,
    functions_around,
    is_test_code,
    means_inference,
    names_around,
    names_made_of,
    wants_randomness,
)
from modellint.static.sites import calls_at
from modellint.static.snapshots import in_eval

_TRIES_OUT = re.compile(
    r"(^|_)(bench\w*|profil\w*|speed\w*|latency|throughput|timing|timeit|flops?|macs|export\w*|onnx|torchscript|trace|"
    r"tracing|debug\w*|smoke\w*|sanity|check|warm\w*|unittest|dry|shapes?|summary|ablat\w*|perf|performance|"
    r"(time|measure|memory|check|verify|validate|compare|count|convert|trace|visuali[sz]e|plot)_(the_|all_|of_|to_)?"
    r"(model|network|net|module|layers?|forward\w*|inference|backend|param\w*|flop\w*|memory|usage|time|shape|output|dim\w*|"
    r"implementation|equivalence|equality|consistency|parity|conversion|checkpoint|weights?|torchscript|onnx|coreml|"
    r"tflite|jit|attention|attn|architecture|graph)\w*|parity|equivalen\w*)(_|$)"
)
"""Names of code that tries a model out: how fast it is, whether it runs. What the objects of its verb are counts:
one who compares faces or verifies a signature believes in the answer."""

_MEANT_RANDOM = re.compile(
    r"(^|_)(random\w*|rand|untrained|scratch|fresh$|dummy|toy|fake|mock|stub|rnd|reservoir|lsh|dip|deep_image_prior|at_init|initial|"
    r"initiali[sz]ation|re_?init\w*|evol\w*|genetic\w*|genom\w*|populations?|mutat\w*|nas|supernet|lottery|ntk|prun\w*|"
    r"hyper_?net\w*|(arch|architecture|hyper\w*)_search|federated|fl|agents?|polic\w*|actors?|critic\w*|q_net\w*|dqn)(_|$)"
)
"""Names that say weights are random on purpose, or come from a search, from other clients or from an environment."""

_SYNTHETIC = frozenset(
    "rand randn randint rand_like randn_like randint_like ones zeros empty full arange linspace ones_like zeros_like "
    "randperm eye normal uniform normal_ uniform_ random_ fill_ zero_ Size dummy_input dummy_inputs RandomState".split()
)
_LOADS_WHAT_IT_HOLDS = frozenset({"load_state", "load_checkpoint", "load_objects", "load_ckpt", "resume_or_load"})
"""Methods of engines and accelerators: they load into the models that were handed to them before."""
_TEACHES = re.compile(
    r"(^|_)(load|restore|resume|train|fit|learn|backward|update|set_(weights|params|parameters|state)|optimi[sz]e)"
)


def is_believed(context: FileContext, event: Event) -> bool:
    """Tell whether a forward is inference whose result somebody believes in."""
    if event.wants_gradient or event.feeds_training or event.model_trained or event.beside_training:
        return False
    if is_test_code(event) or wants_randomness(event) or acts(event):
        return False
    if not event.key.chain and any(is_shape_check(event, snapshot) for snapshot in event.snapshots):
        return False
    names = [snake(name) for name in (*names_around(event), event.root.module.path.stem)]
    if any(_TRIES_OUT.search(name) or _MEANT_RANDOM.search(name) for name in names):
        return False
    if any(found.module.startswith("flwr") for found in event.root.module.imports.values()):
        return False  # federated: the weights come from the other side
    named = means_inference(event)
    switched = all(in_eval(s) or s.grad.state == OFF for s in event.snapshots)
    if not switched and not named:
        return False
    used = not PREDICTS.isdisjoint(event.uses) or (named and "returned" in event.uses)
    made_up = _on_synthetic_input(event) and not _goes_on_from_its_answer(event)
    return used and not made_up and not _taught_elsewhere(context, event)


def is_asked_without_weights(context: FileContext, event: Event, snapshot: Snapshot) -> bool:
    """Tell whether somebody believes in the result of a model of the project whose weights were never loaded."""
    unlearned = snapshot.obj.weights == frozenset({RANDOM}) and not snapshot.obj.touched
    return unlearned and is_believed(context, event) and leaves_weights_random(context, event, snapshot)


def leaves_weights_random(context: FileContext, event: Event, snapshot: Snapshot) -> bool:
    """Tell whether the class of a model is one of the project that makes weights and loads none."""
    cls = snapshot.obj.cls
    if not isinstance(cls, ClassInfo) or is_meant_random(event, snapshot):
        return False
    asked = next(calls_at(context, snapshot.obj.born), None)
    made = context.weights.of(cls) if asked is None else context.weights.made_by(cls, asked[1], asked[0])
    return (made.fresh if made.loads_parts else made.learns) and not made.may_load


def is_meant_random(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether the names of a model, or of its class, say that its weights are random on purpose."""
    obj = snapshot.obj
    names = [obj.name, *event.text.split(".")]
    if isinstance(obj.cls, ClassInfo):
        names.append(obj.cls.name)
    return any(_MEANT_RANDOM.search(snake(name)) for name in names)


def _taught_elsewhere(context: FileContext, event: Event) -> bool:
    """Tell whether a model that outlives the analysed function may get its weights from another one."""
    root = event.root
    if not _LOADS_WHAT_IT_HOLDS.isdisjoint((*root.callees, *event.function.callees)):
        return True
    born = event.snapshots[0].obj.born
    if root.is_body or born is None:
        return False
    if root.name == "forward":
        return True  # a part of a model, by whatever base: who loads the whole loads it
    if any(_spans(function, born) for function in functions_around(event)) or _is_made_anew(context, event, born):
        return False
    makers = {f.name for f in root.module.functions if _spans(f, born)}  # what these do is in sight
    others: Iterable[FunctionInfo]
    if root.cls is None:
        others = [root.module.body, *root.module.functions]
    else:
        handed_out = context.classes.is_module(root.cls) or is_imported(context.project, root.module, root.cls.name)
        if handed_out and makers.isdisjoint(root.callees):
            return True  # whoever loads the whole loads a part of it, whoever builds the object may load its model
        others = [method for cls in context.project.ancestry(root.cls)[0] for method in cls.methods.values()]
    return any(_teaches(function, makers) for function in others if function is not root)


def _is_made_anew(context: FileContext, event: Event, born: Site) -> bool:
    """Tell whether a local variable holds what a function returns that builds it each time: `net = build().eval()`."""
    made = (node for value in values_of(event.function, event.text) for node in walk(value))
    asked = {last_name(node) for node in made if isinstance(node, ast.Call)}
    return any(
        maker.name in asked
        and not (maker.is_decorated or own(maker, ast.Global) or any(map(_is_put_away, own(maker, ast.Subscript))))
        for maker, _ in calls_at(context, born)
    )


def _is_put_away(place: ast.Subscript) -> bool:
    return isinstance(place.ctx, ast.Store)


def _teaches(function: FunctionInfo, known: set[str]) -> bool:
    names = {function.name, *(last_name(call.func) or "" for call in function.calls)} - known
    return any(_TEACHES.search(name) for name in names)


def _spans(function: FunctionInfo, site: Site) -> bool:
    first, last = function.rows
    return str(function.module.path) == site.path and first <= site.row <= last


# -- inputs ------------------------------------------------------------------------------------------------------


def _on_synthetic_input(event: Event) -> bool:
    """Tell whether the forward, or a call that leads to it, is given a tensor made up on the spot."""
    steps = [(step.caller, step.site, False) for step in event.key.chain] + [(event.function, event.site, True)]
    return any(
        _is_synthetic(function, argument, 0)
        for function, site, runs in steps
        for call in function.calls
        if (call.lineno, call.col_offset, call.end_lineno, call.end_col_offset)
        == (site.row, site.column, site.end_row, site.end_column)
        for argument in _inputs(call, runs)
    )


def _goes_on_from_its_answer(event: Event) -> bool:
    """Tell whether a scheduler steps from each answer of a model to its next input: a sampler begins with noise."""
    call = call_at(event.function, event.site) if event.loops and "step" in event.function.callees else None
    return call is not None and not names_made_of(event.function, call).isdisjoint(event.inputs)


def _inputs(call: ast.Call, forward: bool) -> list[ast.expr]:
    """Return what may be the input of a model: of a forward the first argument, masks and positions are made up."""
    named = [k.value for k in call.keywords if not (forward and _BESIDE.search(k.arg or ""))]
    return [*call.args[: 1 if forward else None], *([] if forward and call.args else named)]


_BESIDE = re.compile(r"mask|position|token_type|length|time_?step|state|hidden|cache|^t$")


def _is_synthetic(function: FunctionInfo, value: ast.expr, depth: int) -> bool:
    for node in walk(value):
        if isinstance(node, ast.Call):
            name = last_name(node)
            if name in _SYNTHETIC or (name in _OF_VALUES and _is_literal(node)) or _is_of_a_size(node):
                return True
            if name == "next" and any(isinstance(n, ast.Name) and _TRAINING.search(snake(n.id)) for n in walk(node)):
                return True  # one batch of the training data, to try the network out
        elif isinstance(node, ast.Name) and depth < _HOPS:
            made = values_bound(function, node.id)
            if _MADE_UP.search(snake(node.id)) or (not made and _CODE.search(snake(node.id))):
                return True
            if any(_is_synthetic(function, v, depth + 1) for v in made):
                return True
    return False


_OF_SIZES_OR_VALUES = frozenset({"Tensor", "FloatTensor", "LongTensor"})
_OF_VALUES = _OF_SIZES_OR_VALUES | {"tensor", "array", "as_tensor"}
_HOPS = 3
_TRAINING = re.compile(r"(^|_)train(ing)?(_|$)")
_MADE_UP = re.compile(r"(^|_)(dummy|fake|random|rand|toy|noise|example_input|sample_input)(_|$)")
_CODE = re.compile(r"(^|_)(latent|z)(_|$)")
"""What an encoder answers, too: where a variable is assigned in sight, that tells whether it was drawn."""


_LITERAL = (ast.List, ast.Tuple, ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.expr_context)


def _is_of_a_size(call: ast.Call) -> bool:
    """Tell whether a call is `torch.FloatTensor(2, 3)`, uninitialised memory; with one argument it copies that."""
    sizes = len(call.args) > 1 or any(isinstance(given, ast.Starred) or _is_size(given) for given in call.args)
    return sizes and last_name(call) in _OF_SIZES_OR_VALUES


def _is_size(given: ast.expr) -> bool:
    return isinstance(given, ast.Name) and given.id.endswith(("size", "shape"))


def _is_literal(call: ast.Call) -> bool:
    return bool(call.args) and all(isinstance(node, _LITERAL) for node in walk(call.args[0]))
