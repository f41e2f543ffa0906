"""Is a forward inference? What speaks for it, and what its callers left the model in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from modellint.static.dependence import YES
from modellint.static.flow.events import CallSite, Event, Snapshot
from modellint.static.flow.frames import call_at, holds
from modellint.static.flow.values import OFF, RANDOM, UNKNOWN_MODES
from modellint.static.flow.vocabulary import LOSS_METHOD, OTHER_FRAMEWORKS
from modellint.static.guards import conditions, own, path_to
from modellint.static.naming import snake, speaks_of_inference
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo
from modellint.static.project.facts import is_none, parameters
from modellint.static.project.names import is_called_on, last_name
from modellint.static.purpose import (
    acts,
    asked_to_train,
    calls_around,
    functions_around,
    is_test_code,
    means_inference,
    over_held_out_data,
    picks_training,
    wants_randomness,
)
from modellint.static.snapshots import has_loaded_weights, open_mode, put_into_training

SHOWN = frozenset({"printed", "reported"})
"""What became of a result that a caller may well drop afterwards."""
PREDICTS = SHOWN | {"prediction", "number"}


def as_trained(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether what the same root trains is evaluated in the very mode that its callers left for both.

    That mode is wrong for one of the two, and it is training that sets none. What a factory out of sight made, or code
    out of sight may have switched, counts only where nothing in the file, or in the class, ever switches a mode.
    """
    if not event.trained_as_given or not means_inference(event):
        return False
    return open_mode(snapshot) or (snapshot.modes == UNKNOWN_MODES and not _switches_a_mode(event.root))


_SWITCH = re.compile(r"^(eval|freeze)$|(^|_)mode(_|$)|set_eval|to_eval|eval_on|inference")


def _switches_a_mode(root: FunctionInfo) -> bool:
    """Tell whether a call in the file, or perhaps in a base class, may switch the mode of a model."""
    if root.cls is not None and any(base not in ("object", "abc.ABC", "ABC") for base in root.cls.bases):
        return True
    scopes = (root.module.body, *root.module.functions)
    trains = any(isinstance(call.func, ast.Attribute) for scope in scopes for call in scope.calls_of("train"))
    return trains or any(_SWITCH.search(name) for scope in scopes for name in scope.callees)


def is_inference(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether there is evidence that this forward is inference: without evidence, no finding."""
    if event.training or "losses" in event.uses:
        return False
    if event.wants_gradient and (event.kept or event.goes_on_with_graph):
        return False  # where only numbers are taken of it, `Variable(x, requires_grad=True)` is but a habit
    predicts = not PREDICTS.isdisjoint(event.uses)
    if is_no_model(event, snapshot) or event.asks_evaluation or asked_to_train(event):
        return False
    if picks_training(event) or wants_randomness(event) or (acts(event) and not has_loaded_weights(snapshot)):
        return False
    if is_test_code(event):
        return False
    if is_shape_check(event, snapshot) or _thrown_away(event, snapshot) or _is_tried_out(event, snapshot):
        return False
    if event.feeds_training and not _is_over(event):
        # a teacher; what follows the student by averaging may be in training mode, what was put there is meant so
        return has_loaded_weights(snapshot) and not put_into_training(snapshot)
    if event.result_dropped and put_into_training(snapshot) and _goes_back_to_eval(event):
        return False  # likewise, by a method
    named = means_inference(event)
    if _within_step(event) or (event.within_step and (snapshot.grad.state != OFF or not over_held_out_data(event))):
        return False  # metrics of the batch that is trained on
    if snapshot.grad.state == OFF:
        evaluates = speaks_of_inference(event.function.name) is True or over_held_out_data(event)
        if event.result_dropped and not predicts and not evaluates:
            return False  # a dummy forward: to build lazy layers, to warm up, to gather statistics
        unread = not event.uses and not event.kept
        if unread and event.key.detail in _PLAIN and put_into_training(snapshot):
            return False  # nobody reads the result: batch norms gather their statistics anew
        if put_into_training(snapshot) and _is_walked_through(event, snapshot):
            return False
        if unread and snapshot.obj.weights == frozenset({RANDOM}) and not event.model_trained:
            return False  # nor here, where nothing was loaded or learned: its time is taken
        return named or not _within_training(event) or _is_read_by_people(event, snapshot)
    if "volatile" in event.uses:
        return True
    if has_loaded_weights(snapshot):
        return predicts or named or _reads_what_it_left(event, snapshot)
    if snapshot.obj.weights == frozenset({RANDOM}) and not (event.model_trained or snapshot.obj.touched):
        return False  # nothing was loaded or learned: another rule's business
    if "detached" in event.uses and predicts and _is_what_came_of_training(event, snapshot):
        return True
    evaluated = event.model_trained and over_held_out_data(event)
    return named and (predicts or evaluated or "returned" in event.uses or keeps_its_numbers(event))


def _reads_what_it_left(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether a forward whose result is dropped keeps it in the module, where it is read behind it, and nothing
    learns: `net(a, b)`, `show(net.warped)`."""
    cls, function = snapshot.obj.cls, event.function
    if not event.result_dropped or not isinstance(cls, ClassInfo) or "forward" not in cls.methods:
        return False
    if put_into_training(snapshot) or any(map(_LEARNS.search, calls_around(event))):
        return False
    forward = cls.methods["forward"]
    left = {
        node.attr
        for node in own(forward, ast.Attribute)
        if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == forward.self_name
    }
    model = event.text.removesuffix(".forward")
    return any(
        isinstance(node.ctx, ast.Load)
        and node.lineno > event.site.row
        and node.attr in left
        and _COSTS.search(node.attr) is None
        and ast.unparse(node.value) == model
        for node in own(function, ast.Attribute)
    )


_COSTS = re.compile(r"loss|cost|energy|error|nll|elbo")


def _is_over(event: Event) -> bool:
    """Tell whether the training of a model was over before this: what it gives is what others learn from."""
    return event.after_training and not event.beside_training and not event.loops


def _goes_back_to_eval(event: Event) -> bool:
    """Tell whether a method of a model is called between its train() and its eval(): `net.sample(n)`, `net.eval()`."""
    for step in event.key.chain:
        call = call_at(step.caller, step.site)
        if call is not None and isinstance(call.func, ast.Attribute):
            model = ast.unparse(call.func.value)
            switches = (other for other in step.caller.calls_of("train", "eval") if is_called_on(other, model))
            rows = {last_name(other): other.lineno for other in switches}
            if rows.get("train", call.lineno) < call.lineno < rows.get("eval", 0):
                return True
    return False


def _is_walked_through(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether a function calls train() and runs the model on numbers that it draws itself, to see their shapes.

    It is given the model and options that have defaults, and reads nothing: no other numbers are at hand.
    """
    function = event.function
    if event.loops or function.self_name is not None or not function.calls_of("randn", "rand", "randint"):
        return False
    needed = [argument for argument, default in parameters(function) if default is None]
    if len(needed) != 1 or not _READS.isdisjoint(function.callees):
        return False
    return all(holds(function, fact.site) for fact in snapshot.modes)


_READS = frozenset("load open read imread next iter DataLoader load_dataset read_csv".split())


def _is_read_by_people(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether a text is generated and printed: whoever reads it amid training wants to know what is learned.

    Many language models have no dropout to speak of: it has to be seen.
    """
    return event.key.detail == "generate" and "printed" in event.uses and snapshot.obj.depends == YES


def _is_what_came_of_training(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether a model is run after it was trained, in a script or a function, for numbers alone.

    What a loop runs that is not over yet may be samples drawn on the way, between the epochs. In a function somebody
    called train() for the training: a mode of unseen callers may be meant for both.
    """
    if not event.after_training or event.kept or event.goes_on_with_graph:
        return False
    return event.root.is_body or put_into_training(snapshot)


def is_explained(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether the gradient of a prediction is taken where nothing learns, of a model as it was loaded.

    A saliency map says what the model looks at that is shipped, which has no dropout.
    """
    differentiated = event.training or event.wants_gradient
    if not differentiated or "prediction" not in event.uses or "losses" in event.uses:
        return False
    if not has_loaded_weights(snapshot) or put_into_training(snapshot) or is_test_code(event):
        return False
    return not any(map(_LEARNS.search, calls_around(event)))


_LEARNS = re.compile(r"^(step|train\w*|fit)$|_step$|optim|minimi[sz]e|^(SGD|Adam\w*|RMSprop|LBFGS)$")


def keeps_its_numbers(event: Event) -> bool:
    """Tell whether a model is asked to evaluate and nothing is done with what it returns: it counts by itself."""
    return not event.uses and speaks_of_inference(event.key.detail) is True


_PLAIN = frozenset({"", "forward", "__call__"})
"""Forwards that leave nothing behind but their result: other methods may keep it in the object."""


def is_no_model(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether what is called is a loss, a metric, data or a transform of it, or a session of ONNX Runtime."""
    # `losses["gan"](x)` as well as `self.criterion(x)`
    if _CRITERION.search(event.text.partition("[")[0]) and LOSS_METHOD.match(event.key.detail) is None:
        return True  # `net.loss(batch)` is an event only of a model that is switched
    if _is_in_a_branch_for_another(event):
        return True
    if isinstance(snapshot.obj.cls, ClassInfo):
        return False
    if _is_of_another_framework(event):
        return True
    if event.key.detail == "run":
        call = call_at(event.function, event.site)
        return call is not None and len(call.args) > 1 and is_none(call.args[0])
    return _TRANSFORM.search(event.text) is not None or _DATA.search(event.text) is not None


_DATA = re.compile(r"(^|[._])(data_?set|data_?loader)(_?(cls|class|type|factory))?$", re.I)
"""What makes the data, by its name: an object may be called like nothing else, and be taken for what it keeps."""

_OF_TORCH = frozenset({"torch", "cuda", "no_grad", "backward", "device"})
_METHODS_OF_TORCH = frozenset({"cuda", "detach", "load_state_dict", "state_dict", "no_grad"})

_NEVER_FOR_LOGS = frozenset({"jax", "flax", "haiku", "optax", "keras", "tf_keras"})
_BOOSTERS = frozenset({"xgboost", "lightgbm", "catboost"})


def _is_of_another_framework(event: Event) -> bool:
    """Tell whether a function, or the branch of it around a call, computes with TensorFlow, say, and not with torch.

    So does a file that imports JAX or Keras and no torch; TensorFlow may be there for its logs, unless it computes.
    """
    function = event.function
    roots = {made.module.split(".")[0] for made in function.module.imports.values() if not made.level}
    computes = _METHODS_OF_TORCH.isdisjoint(function.callees) and _computes_with_tensorflow(function.module)
    if "torch" not in roots and (not roots.isdisjoint(_NEVER_FOR_LOGS) or computes):
        return True
    others = {name for name, made in function.module.imports.items() if made.module.split(".")[0] in OTHER_FRAMEWORKS}
    here = [alias for node in own(function, ast.Import) for alias in node.names]
    mine = {alias.asname or alias.name for alias in here if alias.name in OTHER_FRAMEWORKS | _BOOSTERS}
    used = {node.id for node in own(function, ast.Name)} | function.callees
    if mine and "torch" not in used:
        return True
    others |= mine
    if others.isdisjoint(used):
        return False
    return _OF_TORCH.isdisjoint(used) or any(
        not others.isdisjoint(names) and "torch" not in names for names in _used_in_branches(event)
    )


def _computes_with_tensorflow(module: ModuleInfo) -> bool:
    """Tell whether a file makes tensors of TensorFlow, in whatever function: `tf.convert_to_tensor(x)`."""
    names = {name for name, made in module.imports.items() if made.module.split(".")[0] == "tensorflow"}
    scopes = (module.body, *module.functions) if names else ()
    return any(
        isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id in names
        for scope in scopes
        for call in scope.calls_of(*_MAKES_TENSORS)
    )


_MAKES_TENSORS = ("convert_to_tensor", "constant", "cast", "one_hot", "reshape", "reduce_mean", "matmul", "placeholder")


def _is_in_a_branch_for_another(event: Event) -> bool:
    """Tell whether a forward stands where a condition compares with the name of another framework: `== "tflite"`."""
    call = call_at(event.function, event.site)
    compared = (test for test, holds in conditions(event.function, call) if holds) if call is not None else ()
    return any(
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], (ast.Eq, ast.In))
        and any(isinstance(n, ast.Constant) and n.value in _BACKENDS for n in ast.walk(test.comparators[0]))
        for test in compared
    )


_BACKENDS = frozenset("tensorflow tf keras tflite jax flax onnx onnxruntime openvino mxnet".split())


def _used_in_branches(event: Event) -> Iterator[set[str]]:
    """Yield the names that are used, and called, in each branch of an `if` around an event."""
    call = call_at(event.function, event.site)
    path = path_to(event.function, call) if call is not None else []
    for outer, inner in pairwise(path):
        if isinstance(outer, ast.If):
            nodes = [n for s in (outer.body if inner in outer.body else outer.orelse) for n in ast.walk(s)]
            names = {node.id for node in nodes if isinstance(node, ast.Name)}
            yield names | {last_name(node.func) or "" for node in nodes if isinstance(node, ast.Call)}


_CRITERION = re.compile(
    r"(^|(?<!_with)(?<!_and)[._])(crit(?!ic)(erion|eria)?|loss(es)?(_?(fn|func|function))?)(_?\w{1,3})?$|"
    r"(^|[._])metrics?_?(fn|func|function)$"
)
"""How a loss is called, or a function for a metric, which measures the same in every mode."""
_TRANSFORM = re.compile(
    r"(^|[._])(transforms?(_inputs?)?|augment(ation|ations|er|or)?|perturbation|normali[sz]er?(_\w+)?|"
    r"(mel_?)?spectrogram|mfcc|i?stft|fbank|resampler?|anchor_gen(erator)?)$"
)
"""How a transform of data is called, which has a mode, perhaps, and no weights; the anchors of a detector are made of
the sizes of its feature maps alone."""
_STEP = re.compile(r"(^|_)train(ing)?_(step|batch|iter\w*)(_|$)")


def _within_step(event: Event) -> bool:
    """Tell whether a training step leads to an event, without a loop of its own over other data."""
    return not event.loops and any(_STEP.search(snake(function.name)) for function in functions_around(event)[1:])


def _within_training(event: Event) -> bool:
    """Tell whether the code around an event also trains: samples drawn on the way, or acting, show no evaluation."""
    if any(_STEP.search(snake(function.name)) for function in functions_around(event)):
        return True
    if speaks_of_inference(event.function.name) is False and "backward" in event.function.callees:
        return not event.loops or event.beside_training
    return bool(event.loops) and (event.beside_training or _clears_gradients(event))


def _clears_gradients(event: Event) -> bool:
    """Tell whether each turn of the loop around clears the gradients, too: it trains, whatever differentiates.

    `backprop(loss)`, which the function was given, may be out of sight.
    """
    call = call_at(event.function, event.site)
    if call is None or "zero_grad" not in event.loops[-1].calls:
        return False
    around, loop = list(conditions(event.function, call)), _loop_around(event.function, call)
    return any(
        all(condition in around for condition in conditions(event.function, clear))
        for clear in event.function.calls_of("zero_grad")
        if _loop_around(event.function, clear) is loop
    )


def _loop_around(function: FunctionInfo, node: ast.AST) -> ast.AST | None:
    """Return the innermost loop around a node of a function."""
    return next((n for n in reversed(path_to(function, node)) if isinstance(n, (ast.For, ast.While))), None)


def is_shape_check(event: Event, snapshot: Snapshot) -> bool:
    """A model is tried out, not used: it may fail, or has random weights and runs at the bottom of its file."""
    obj = snapshot.obj
    if _only_has_to_run(event):
        return True
    if event.model_trained or over_held_out_data(event):
        return False
    if obj.weights != frozenset({RANDOM}) or isinstance(obj.cls, str) or obj.cls is None:
        return event.result_dropped and obj.weights == frozenset({RANDOM})
    return obj.cls.module is event.root.module and event.function.is_body


def _only_has_to_run(event: Event) -> bool:
    """Tell whether a `try` asks whether a model takes what it is given, and nobody reads what comes of it.

    `try: model(position_ids=None)`, `except TypeError: ...`.
    """
    call = None if event.uses or event.kept or event.loops else call_at(event.function, event.site)
    return call is not None and any(
        inner in outer.body and any(map(_catches_a_misfit, outer.handlers))
        for outer, inner in pairwise(path_to(event.function, call))
        if isinstance(outer, ast.Try)
    )


def _catches_a_misfit(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(last_name(one) in _MISFITS for one in caught if one is not None)


_MISFITS = frozenset({"TypeError", "IndexError", "AttributeError", "NotImplementedError"})
"""What a call raises that does not fit a model: an argument it does not know, more positions than it has."""


def _is_tried_out(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether a script runs a model that has learned nothing yet, to see whether it does, before it trains it."""
    fresh = snapshot.obj.weights == frozenset({RANDOM}) and not event.trained_before
    return fresh and event.function.is_body and event.model_trained and not over_held_out_data(event)


def _thrown_away(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether a module without loaded weights is built and run in one expression: its mode is in plain sight."""
    obj = snapshot.obj
    at_once = obj.born is not None and obj.born[:3] == event.site[:3]
    return at_once and isinstance(obj.cls, ClassInfo) and obj.weights == frozenset({RANDOM})


def wrong_call(bad: Event, good: Iterable[Event]) -> CallSite | None:
    """Return the innermost call that leads to `bad` and to none of `good`: there the difference was made."""
    shared = {step.site for event in good for step in event.key.chain}
    return next((step for step in reversed(bad.key.chain) if step.site not in shared), None)
