"""What the code around an event is for, by the names of its functions, its data and the calls that lead to it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from modellint.static import held_out
from modellint.static.flow.events import CallSite, Event
from modellint.static.flow.frames import call_at
from modellint.static.flow.values import Site
from modellint.static.flow.vocabulary import PHASE
from modellint.static.guards import bindings, conditions, own, path_to, walk_own
from modellint.static.naming import is_test_module, snake, speaks_of_inference, speaks_of_loss_alone
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import parameters
from modellint.static.project.names import arguments_of, last_name
from modellint.static.project.trees import walk
from modellint.static.snapshots import put_into_training

_NAMED_FILE = re.compile(
    r"(^|_)(eval\w*|valid\w*|test\w*|infer\w*|predict\w*|demo|serv\w*|generate|sample|synthesi[sz]e|translate|"
    r"transcribe|detect|train\w*)(_|$)"
)


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


def calls_leading_to(event: Event) -> Iterator[tuple[FunctionInfo, ast.Call]]:
    """Yield the call that an event is, and those that lead to it, each with the function that it stands in."""
    for function, site in ((event.function, event.site), *((step.caller, step.site) for step in event.key.chain)):
        call = call_at(function, site)
        if call is not None:
            yield function, call


def calls_around(event: Event) -> Iterator[str]:
    """Yield the names that are called in the files of an event and of the way to it, each scope's in turn."""
    modules = {function.module for function in functions_around(event)}
    for module in modules:
        for scope in (module.body, *module.functions):
            yield from scope.callees


def is_test_code(event: Event) -> bool:
    """Tell whether an event happened in a test suite, where names that speak of tests are no evidence."""
    module = event.root.module
    if is_test_module(module):
        return True
    around = functions_around(event)
    if any(f.cls is not None and "unittest.TestCase" in f.cls.bases for f in around):
        return True
    alone = [f for f in around if all(default is not None for _, default in parameters(f))]
    if any(f.name == "_test" or (f.name == "test" and own(f, ast.Assert)) for f in alone):
        return True  # what pytest collects, or a module tries itself out with; what is given a model evaluates it
    return "pytest" in module.imports and any(name.startswith("test_") for name in names_around(event))


def named_for_inference(event: Event) -> bool:
    """Tell whether the function is named for evaluation, prediction or the like, and not for training."""
    if is_test_code(event):
        return False
    verdicts = (speaks_of_inference(name) for name in names_around(event) if not speaks_of_loss_alone(name))
    return next((verdict for verdict in verdicts if verdict is not None), False)


def evaluates_a_loss(event: Event) -> bool:
    """Tell whether a function around is named for the loss of an evaluation, and none for training: `val_loss(batch)`.

    What `evaluate_loss()` computes may as well be what is trained on.
    """
    if is_test_code(event):
        return False
    names = [function.name for function in functions_around(event) if not function.is_body]
    if any(speaks_of_inference(name) is False and not speaks_of_loss_alone(name) for name in names):
        return False
    return any(speaks_of_loss_alone(name) and _OF_AN_EVALUATION.search(snake(name)) for name in names)


_OF_AN_EVALUATION = re.compile(r"(^|_)(eval(uation)?|valid(ation)?|val|test)(_|$)")


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
    for value in arguments_of(call):
        if isinstance(value, ast.Subscript):  # `loaders["val"]`
            value = value.slice
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            name, wanted = value.value.lower(), PHASE
        else:
            name, wanted = snake(last_name(value) or ""), held_out.NAME
        if _TRAINS.search(name):
            verdicts.add(False)
        elif wanted.search(name):
            verdicts.add(True)
    return verdicts.pop() if len(verdicts) == 1 else None


def means_inference(event: Event) -> bool:
    """Tell whether names say that an event is evaluation, prediction or the like: of the code, the data or the call, or
    of the model's own method: `net.infer(x)`."""
    if _INFERS.match(event.key.detail) and not event.root_trains:
        return True
    return named_for_inference(event) or over_held_out_data(event) or called_for_inference(event)


_INFERS = re.compile(r"^(infer|inference)(_|$)")


_TRAINING_FLAG = re.compile(r"^(is_train(ing)?|training)$")
_EVALUATES = re.compile(r"(^|_)(eval|test|val|predict|infer|accura|scor|metric)")


def asked_to_train(event: Event) -> bool:
    """Tell whether a caller tells what runs the model that this is training: `sample(net, is_train=True)`.

    What evaluates or predicts by its name may be told which half of the data to look at, unless it is told the mode.
    """
    return any(
        isinstance(keyword.value, ast.Constant)
        and keyword.value.value is True
        and _asks_for_training(step, keyword.arg)
        for step in event.key.chain
        if (call := call_at(step.caller, step.site)) is not None
        for keyword in call.keywords
    )


def _asks_for_training(step: CallSite, argument: str | None) -> bool:
    """Tell whether a flag, by its name, makes a call train, or run in training mode."""
    if argument is None:
        return False
    if _MODE_FLAG.search(argument):
        return True
    return _TRAINING_FLAG.match(argument) is not None and not _EVALUATES.search(snake(step.callee.name))


_MODE_FLAG = re.compile(r"train(ing)?_mode$")


def picks_training(event: Event) -> bool:
    """Tell whether a function asks which mode is wanted, and this is the branch for training: the other one is for
    evaluation, `if tune: net.train(); y = net(x)` before `else: net.eval(); ...`.
    """
    function, forward = event.function, call_at(event.function, event.site)
    if forward is None or not all(put_into_training(snapshot) for snapshot in event.snapshots):
        return False
    switches = [call_at(function, f.site) for s in event.snapshots for f in s.modes if f.site is not None]
    above = path_to(function, forward)
    return bool(switches) and all(
        call is not None and any(_is_put_into_eval(call, branch) for branch in _other_branches(function, call, above))
        for call in switches
    )


def _other_branches(function: FunctionInfo, call: ast.Call, above: list[ast.AST]) -> Iterator[list[ast.stmt]]:
    """Yield the branches that are not taken where `call`, and what has the nodes `above` over it, run."""
    path = path_to(function, call)
    for outer, inner in pairwise(path):
        if isinstance(outer, ast.If) and outer in above:
            taken, other = (outer.body, outer.orelse) if inner in outer.body else (outer.orelse, outer.body)
            if above[above.index(outer) + 1] in taken:
                yield other


def _is_put_into_eval(train: ast.Call, branch: list[ast.stmt]) -> bool:
    """Tell whether a branch calls `eval()` of what `train` puts into training mode."""
    model = ast.dump(train.func.value) if isinstance(train.func, ast.Attribute) else None
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "eval"
        and ast.dump(node.func.value) == model
        for statement in branch
        for node in ast.walk(statement)
    )


def _repeats_itself(event: Event) -> bool:
    """Tell whether the innermost loop counts turns that give the model the same input each, in a mode that train() set.

    Such predictions are drawn to see how they spread.
    """
    if not event.loops or event.loops[-1].over != {"range"} or not event.inputs or event.beside_training:
        return False
    if not all(put_into_training(snapshot) for snapshot in event.snapshots):
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


def _is_put_into_training_for_it(event: Event) -> bool:
    """Tell whether `train()` is called under a condition that says so: `if cfg.mc_dropout: model.train()`."""
    scopes = {event.function, *(step.caller for step in event.key.chain)}
    return any(
        fact.by_train
        and fact.site is not None
        and (call := call_at(scope, fact.site)) is not None
        and any(holds and _asks_for_samples(snake(last_name(test) or "")) for test, holds in conditions(scope, call))
        for snapshot in event.snapshots
        for fact in snapshot.modes
        for scope in scopes
    )


def _asks_for_samples(name: str) -> bool:
    """Tell whether an option asks for predictions that spread, and not for a kind of training: `train_with_dropout`."""
    return _MONTE_CARLO.search(name) is not None and _TRAINS.search(name) is None


_MONTE_CARLO = re.compile(
    r"(^|_)(mc|monte|carlo|uncertaint\w+|dropout|stochastic|bayes\w*|epistemic|attack\w*|adversarial|adversary$|"
    r"fast_adapt|maml|meta_(train|test|val\w*))(_|$)"
)


def wants_randomness(event: Event) -> bool:
    """Tell whether the code, or a loop around it, is named for what dropout at inference is good for.

    An attack goes by the model as it stands: recurrent layers give gradients in training mode only. A model that is
    adapted to a few examples learns in the same turn.
    """
    if _repeats_itself(event) or _is_put_into_training_for_it(event):
        return True
    turns = (name for loop in event.loops for name in loop.given | loop.over)
    return any(_MONTE_CARLO.search(snake(name)) for name in (*names_around(event), *turns))


ACTING = re.compile(
    r"(^|_)(select|choose|get|sample|take|pick)_actions?(_|$)|^act$|"
    r"^_?(get|collect|gather|compute)_(rollouts?|trajector(y|ies)|transitions?|experiences?)(_|$)"
)


def acts(event: Event) -> bool:
    """Tell whether the loop around an event steps through an environment, or the code is named for that.

    A policy that acts explores, unless the function is there to evaluate it.
    """
    if acts_by_name(event):
        return True
    if not event.loops or named_for_inference(event):
        return False
    return "step" in event.loops[-1].calls and "zero_grad" not in event.loops[-1].calls


def acts_by_name(event: Event) -> bool:
    """Tell whether the code around an event is named for picking an action."""
    return any(ACTING.search(snake(name)) for name in names_around(event))


def steps_an_environment(event: Event) -> bool:
    """Tell whether an environment is given a step by what a function makes of a result: `env.step(actions)`."""
    steps = [(event.function, event.site), *((step.caller, step.site) for step in event.key.chain[-1:])]
    return any(_steps_with(function, site) for function, site in steps)


def _steps_with(function: FunctionInfo, site: Site) -> bool:
    """Tell whether a function gives an environment a step by what it makes of the result of the call at `site`."""
    given = (
        _without_methods(given)
        for call in function.calls_of("step")
        if isinstance(call.func, ast.Attribute)
        and (_ENVIRONMENT.search(last_name(call.func.value) or "") or _is_rewarded(function, call))
        for argument in call.args
        for given in (argument.elts if isinstance(argument, ast.List) else [argument])
    )
    taken = {value.id for value in given if isinstance(value, ast.Name)}
    call = call_at(function, site) if taken else None
    return call is not None and not names_made_of(function, call).isdisjoint(taken)


def _is_rewarded(function: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a step returns what that of an environment does: `state, reward, done, info = task.step(action)`."""
    targets = (target for node in own(function, ast.Assign) if node.value is call for target in node.targets)
    names = {last_name(item) or "" for target in targets for item in getattr(target, "elts", ())}
    return any(map(_REWARD.search, names)) and any(map(_END.search, names))


_REWARD = re.compile(r"(^|_)(reward|rew)s?(_|$)")
_END = re.compile(r"(^|_)(dones?|terminal\w*|terminated|truncated)(_|$)")


def _without_methods(given: ast.expr) -> ast.expr:
    """Return what methods cut off or convert on the spot: `action` of `action.detach().cpu().numpy()`."""
    while isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in _CONVERTS:
        given = given.func.value
    return given


_CONVERTS = frozenset("detach cpu numpy item tolist clone squeeze flatten to".split())


def names_made_of(function: FunctionInfo, call: ast.Call) -> set[str]:
    """Return the variables of a function that hold the result of a call, or what is made of it."""
    made: set[str] = set()
    for _ in range(_HOPS):
        made |= {
            name
            for name, value in bindings(function)
            if any(node is call or (isinstance(node, ast.Name) and node.id in made) for node in walk(value))
        }
    return made


_HOPS = 3  # `logits = net(x)`, `action = logits.argmax()`, `action = action.item()`
_ENVIRONMENT = re.compile(r"(^|_)envs?(_|$)|[eE]nv(ironment)?s?$")
