"""Is a forward inference? What speaks for it, and what its callers left the model in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from modellint.static import held_out
from modellint.static.flow.events import CallSite, Event, Snapshot
from modellint.static.flow.frames import call_at
from modellint.static.flow.targets import GRADIENTS_ASKED
from modellint.static.flow.values import (
    ENTRY,
    EVAL,
    LOADED,
    MIXED,
    OFF,
    ON,
    RANDOM,
    TRAIN,
    UNKNOWN_MODES,
    Site,
    kinds,
)
from modellint.static.guards import walk_own
from modellint.static.naming import is_test_module, snake, speaks_of_inference
from modellint.static.project import ClassInfo, FunctionInfo, Project
from modellint.static.project.names import last_name

_NAMED_FILE = re.compile(r"(^|_)(eval\w*|valid\w*|test\w*|infer\w*|predict\w*|demo|serv\w*|train\w*)(_|$)")
PREDICTS = frozenset({"prediction", "number", "printed", "reported"})


def names_around(event: Event) -> Iterable[str]:
    """Yield the names of the functions, classes and file that an event happened in, innermost first."""
    for function in functions_around(event):
        if not function.is_body:
            yield function.name
            if function.cls is not None:
                yield function.cls.name
            outer = function.parent
            while outer is not None and not outer.is_body:
                yield outer.name
                outer = outer.parent
    root = event.root
    if root.is_body and _NAMED_FILE.search(snake(root.module.path.stem)):
        yield root.module.path.stem


def functions_around(event: Event) -> list[FunctionInfo]:
    """Return the functions of the call chain, innermost first."""
    return [event.function, *(step.caller for step in reversed(event.key.chain))]


def is_test_code(event: Event) -> bool:
    """Tell whether an event happened in a test suite, where names that speak of tests are no evidence."""
    module = event.root.module
    if is_test_module(module):
        return True
    if any(cls is not None and "unittest.TestCase" in cls.bases for cls in (f.cls for f in functions_around(event))):
        return True
    names = list(names_around(event))
    return "_test" in names or ("pytest" in module.imports and any(name.startswith("test_") for name in names))


def named_for_inference(event: Event) -> bool:
    """Tell whether the function is named for evaluation, prediction or the like, and not for training."""
    if is_test_code(event):
        return False
    for name in names_around(event):
        verdict = speaks_of_inference(name)
        if verdict is not None:
            return verdict
    return False


def over_held_out_data(event: Event) -> bool:
    """Tell whether an event happened to data that is held out for evaluation, outside tests."""
    return not is_test_code(event) and held_out.runs_over_some(event)


_TRAINS = re.compile(r"(^|_)(train\w*|fit|finetune\w*)(_|$)")
_FLAGS = frozenset({"train", "training", "is_train", "is_training"})


def called_for_inference(event: Event) -> bool:
    """Tell whether the innermost call that says so names the part of the work, or of the data, that is no training.

    `run_epoch(model, val_loader)`, `run_epoch(model, loader, "test")`, `step(batch, train=False)`.
    """
    if is_test_code(event):
        return False
    for step in reversed(event.key.chain):
        verdict = _asks_for_inference(step)
        if verdict is not None:
            return verdict
    return False


def _asks_for_inference(step: CallSite) -> bool | None:
    """Tell whether the arguments of a call speak of inference (True), of training (False), or leave it open."""
    call = call_at(step.caller, step.site)
    if call is None:
        return None
    verdicts = set()
    for keyword in call.keywords:
        if keyword.arg in _FLAGS and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, bool):
            verdicts.add(not keyword.value.value)
    for value in (*call.args, *(keyword.value for keyword in call.keywords)):
        if isinstance(value, ast.Subscript):  # `loaders["val"]`
            value = value.slice
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            name, wanted = value.value.lower(), held_out.PHASE
        else:
            name, wanted = snake(last_name(value) or ""), held_out.NAME
        if _TRAINS.search(name):
            verdicts.add(False)
        elif wanted.search(name):
            verdicts.add(True)
    return verdicts.pop() if len(verdicts) == 1 else None


def means_inference(event: Event) -> bool:
    """Tell whether names say that an event is evaluation, prediction or the like: of the code, the data or the call."""
    return named_for_inference(event) or over_held_out_data(event) or called_for_inference(event)


def has_loaded_weights(snapshot: Snapshot) -> bool:
    """Tell whether weights were loaded into the model for certain."""
    return snapshot.obj.weights == frozenset({LOADED})


def in_train(snapshot: Snapshot) -> bool:
    """Tell whether the model, or a part of it that depends on the mode, was in training mode for certain."""
    return bool(snapshot.modes) and kinds(snapshot.modes) <= {TRAIN, MIXED}


def in_eval(snapshot: Snapshot) -> bool:
    """Tell whether the model was in evaluation mode for certain."""
    return kinds(snapshot.modes) == {EVAL}


def open_mode(snapshot: Snapshot) -> bool:
    """Tell whether the mode is what the callers left."""
    return kinds(snapshot.modes) == {ENTRY}


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
    trains = any(isinstance(c.func, ast.Attribute) and c.func.attr == "train" for scope in scopes for c in scope.calls)
    return trains or any(_SWITCH.search(name) for scope in scopes for name in scope.callees)


def records(snapshot: Snapshot) -> bool:
    """Tell whether autograd records, as far as the function and its callers in sight say."""
    return snapshot.grad.state in (ON, ENTRY)


def gradients_asked(event: Event, snapshot: Snapshot) -> Site | None:
    """Return where `requires_grad_()` was called on a model that runs under autograd and is trained nowhere."""
    asked = snapshot.obj.attrs.get(GRADIENTS_ASKED)
    if asked is None or not asked.consts or len(asked.consts) > 1 or not records(snapshot) or event.model_trained:
        return None
    site: Site = next(iter(asked.consts))
    return site


def is_inference(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether there is evidence that this forward is inference: without evidence, no finding."""
    if event.training or event.wants_gradient:
        return False
    predicts = not PREDICTS.isdisjoint(event.uses)
    if is_no_model(event, snapshot) or event.asks_evaluation or _asked_to_train(event):
        return False
    if wants_randomness(event) or (acts(event) and not has_loaded_weights(snapshot)):
        return False
    if is_test_code(event):
        return False
    if is_shape_check(event, snapshot) or _thrown_away(event, snapshot):
        return False
    if event.feeds_training:
        # a teacher; what follows the student by averaging may be in training mode, what was put there is meant so
        return has_loaded_weights(snapshot) and not _put_into_training(snapshot)
    named = means_inference(event)
    if _within_step(event) or (event.within_step and snapshot.grad.state != OFF):
        return False  # metrics of the batch that is trained on
    if snapshot.grad.state == OFF:
        if event.result_dropped and speaks_of_inference(event.function.name) is not True:
            return False  # a dummy forward: to build lazy layers, to warm up, to gather statistics
        if not event.uses and event.key.detail in _PLAIN and _put_into_training(snapshot):
            return False  # nobody reads the result: batch norms gather their statistics anew
        return named or not _within_training(event)
    if "volatile" in event.uses:
        return True
    if has_loaded_weights(snapshot):
        return predicts or named
    if snapshot.obj.weights == frozenset({RANDOM}) and not event.model_trained:
        return False  # nothing was loaded or learned: another rule's business
    return named and (predicts or "returned" in event.uses)


_TRAINING_FLAG = re.compile(r"^(is_train(ing)?|training|train(ing)?_mode)$")
_EVALUATES = re.compile(r"(^|_)(eval|test|val|predict|infer|accura|scor|metric)")


def _asked_to_train(event: Event) -> bool:
    """Tell whether a caller tells what runs the model that this is training: `sample(net, is_train=True)`.

    What evaluates or predicts by its name may be told which half of the data to look at.
    """
    return any(
        keyword.arg is not None
        and _TRAINING_FLAG.match(keyword.arg)
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is True
        for step in event.key.chain
        if not _EVALUATES.search(snake(step.callee.name)) and (call := call_at(step.caller, step.site)) is not None
        for keyword in call.keywords
    )


_PLAIN = frozenset({"", "forward", "__call__"})
"""Forwards that leave nothing behind but their result: other methods may keep it in the object."""


def is_no_model(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether what is called is a loss, a transform of data, or a session of ONNX Runtime: `run(None, feeds)`."""
    if _CRITERION.search(event.text):
        return True
    if isinstance(snapshot.obj.cls, ClassInfo):
        return False
    if event.key.detail == "run":
        call = call_at(event.function, event.site)
        return call is not None and len(call.args) > 1 and _is_none(call.args[0])
    return _TRANSFORM.search(event.text) is not None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


_CRITERION = re.compile(r"(^|(?<!_with)(?<!_and)[._])(crit(erion|eria)?|loss(es)?(_?(fn|func|function))?)(_?\w{1,3})?$")
"""How a loss is called, which measures the same in every mode."""
_TRANSFORM = re.compile(r"(^|[._])(transforms?(_inputs?)?|augment(ation|ations|er|or)?|perturbation)$")
"""How a transform of data is called, which has a mode, perhaps, and no weights."""


def _put_into_training(snapshot: Snapshot) -> bool:
    """Tell whether the author wrote `train()` for this very model."""
    return all(fact.how.startswith("train") for fact in snapshot.modes)


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
    return bool(event.loops) and event.beside_training


def _repeats_itself(event: Event) -> bool:
    """Tell whether the innermost loop counts turns that give the model the same input each, in a mode that train() set.

    Such predictions are drawn to see how they spread.
    """
    if not event.loops or event.loops[-1].over != {"range"} or not event.inputs or event.beside_training:
        return False
    if not all(_put_into_training(snapshot) for snapshot in event.snapshots):
        return False
    row = event.loops[-1].row
    turns = [
        node
        for node in walk_own(event.function)
        if isinstance(node, (ast.For, ast.ListComp)) and node.lineno <= row <= event.site.row <= (node.end_lineno or 0)
    ]
    changed = (
        {n.id for n in ast.walk(turns[-1]) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        if turns
        else None
    )
    return changed is not None and changed.isdisjoint(event.inputs)


_MONTE_CARLO = re.compile(
    r"(^|_)(mc|monte|carlo|uncertaint\w+|dropout|stochastic|bayes\w*|epistemic|attack\w*|adversar\w*|"
    r"fast_adapt|maml|meta_(train|test|val\w*))(_|$)"
)


def wants_randomness(event: Event) -> bool:
    """Tell whether the code, or a loop around it, is named for what dropout at inference is good for.

    An attack goes by the model as it stands: recurrent layers give gradients in training mode only. A model that is
    adapted to a few examples learns in the same turn.
    """
    if _repeats_itself(event):
        return True
    turns = (name for loop in event.loops for name in loop.given | loop.over)
    return any(_MONTE_CARLO.search(snake(name)) for name in (*names_around(event), *turns))


_ACTING = re.compile(r"(^|_)(select|choose|get|sample|take|pick)_actions?(_|$)|^act$")


def acts(event: Event) -> bool:
    """Tell whether the loop around an event steps through an environment, or the code is named for that.

    A policy that acts explores.
    """
    if any(_ACTING.search(snake(name)) for name in names_around(event)):
        return True
    return bool(event.loops) and "step" in event.loops[-1].calls and "zero_grad" not in event.loops[-1].calls


def is_shape_check(event: Event, snapshot: Snapshot) -> bool:
    """A model with random weights, run at the bottom of the file that defines it, is tried out, not used."""
    obj = snapshot.obj
    if event.model_trained:
        return False
    if obj.weights != frozenset({RANDOM}) or isinstance(obj.cls, str) or obj.cls is None:
        return event.result_dropped and obj.weights == frozenset({RANDOM})
    return obj.cls.module is event.root.module and event.function.is_body


def _thrown_away(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether a module without loaded weights is built and run in one expression: its mode is in plain sight."""
    obj = snapshot.obj
    at_once = obj.born is not None and obj.born[:3] == event.site[:3]
    return at_once and isinstance(obj.cls, ClassInfo) and obj.weights == frozenset({RANDOM})


def is_handed_over(root: FunctionInfo, project: Project) -> bool:
    """Tell whether a method is given by its class, or a function by its file, to somebody out of sight who calls it.

    `run_stage(self.valid)`; a table of functions.
    """
    if root.is_body or (root.parent is not None and not root.parent.is_body):
        return False
    if root.cls is None:
        return any(_gives_away(scope, root, project) for scope in (root.module.body, *root.module.functions))
    family = project.ancestry(root.cls)[0]
    if any(_gives_away(method, root, project) for cls in family for method in cls.methods.values()):
        return True
    return any(_is_argument(scope, root.name) for scope in (root.module.body, *root.module.functions))


def _is_argument(scope: FunctionInfo, name: str) -> bool:
    """Tell whether a call in `scope` is given some object's method of that name: `run(loader, self.labeler.label)`."""
    values = (value for call in scope.calls for value in (*call.args, *(keyword.value for keyword in call.keywords)))
    return any(isinstance(value, ast.Attribute) and value.attr == name for value in values)


_STARTERS = re.compile(
    r"^(gradio|streamlit|fastapi|flask|starlette|multiprocessing|threading|concurrent|absl|fire|typer|torch_xla|optuna|ray)\.|"
    r"^torch\.(multiprocessing|distributed\.(launcher|run|elastic))\."
)
"""What calls a function for each request, in each process or for each trial, and knows nothing of gradients."""


def _gives_away(scope: FunctionInfo, function: FunctionInfo, project: Project) -> bool:
    """Tell whether `scope` names `function` without calling it, for others than those who only start it."""
    called = {id(call.func) for call in scope.calls}
    for call in scope.calls:
        symbol = project.resolve_in(scope, call.func) if call.args or call.keywords else None
        if symbol is not None and _STARTERS.match(symbol.dotted):
            called.update(id(value) for value in (*call.args, *(keyword.value for keyword in call.keywords)))
    for node in walk_own(scope):
        if function.cls is None:
            named = isinstance(node, ast.Name) and node.id == function.name
        else:
            named = isinstance(node, ast.Attribute) and node.attr == function.name and _is_self(node.value, scope)
        if named and id(node) not in called and isinstance(getattr(node, "ctx", None), ast.Load):
            return True
    return False


def _is_self(node: ast.expr, scope: FunctionInfo) -> bool:
    return isinstance(node, ast.Name) and node.id == scope.self_name


def wrong_call(bad: Event, good: Iterable[Event]) -> CallSite | None:
    """Return the innermost call that leads to `bad` and to none of `good`: there the difference was made."""
    shared = {step.site for event in good for step in event.key.chain}
    return next((step for step in reversed(bad.key.chain) if step.site not in shared), None)
