"""Models that train in evaluation mode in every turn: which of them do so by an oversight, and are not tuned so."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from modellint.static import held_out
from modellint.static.comments import says
from modellint.static.flow.events import FORWARD, CallSite, Event
from modellint.static.flow.frames import call_at, holds, site_of
from modellint.static.flow.values import EVAL, RANDOM, ModeFact, Site, kinds
from modellint.static.guards import loops_around, own, run_before, walk_own
from modellint.static.naming import speaks_of_inference
from modellint.static.project import FunctionInfo
from modellint.static.project.names import arguments_of, last_name
from modellint.static.purpose import functions_around, over_held_out_data


def left_by_oversight(event: Event, everything: Iterable[Event]) -> set[ModeFact]:
    """Return the eval() calls that nobody meant for a training forward, which runs in evaluation mode each time.

    Not those of a model that was in evaluation mode already.
    """
    found = _left_by_evaluations(event, everything) if _knows_one_mode(event) else set()
    return {
        fact
        for fact in found | _left_by_a_look(event, everything)
        if all(
            earlier.site == fact.site
            for other in everything
            if other.site == fact.site
            for snapshot in other.snapshots
            for earlier in snapshot.modes
        )
    }


# -- train() before a loop, and eval() in its every turn ---------------------------------------------------------


def undone_in_each_turn(event: Event, everything: Iterable[Event]) -> set[ModeFact]:
    """Return the eval() calls in a loop that undo the train() before it in every turn, for an evaluation or an attack.

    Of a model that does not train in training mode at all, although somebody says train(). The forwards of an attack,
    whose gradient is for an input, are meant to be so.
    """
    same = [other for other in everything if other.key.oid == event.key.oid and other.root is event.root]
    if any(kinds(snapshot.modes) != {EVAL} for other in same for snapshot in other.snapshots):
        return set()
    attacks = [other for other in same if _asks_for_gradients(other.function)]
    if event in attacks or _is_optimized_elsewhere(event) or _inherits_from_out_of_sight(event):
        return set()
    if _is_said_to_be_meant(event, same):
        return set()
    looks = [other for other in same if other.key.kind == FORWARD and not other.training]
    return {
        fact
        for function, site, chain in _ways_in(event)
        for loop in _loops_readied_before(function, site, event.text)
        for other in (*looks, *attacks)
        if _is_in(loop, function, _place_below(other, chain), site)
        for snapshot in other.snapshots
        for fact in snapshot.modes
        if _is_set_in(loop, function, fact, other.key.chain[len(chain) :])
    }


def _ways_in(event: Event) -> Iterator[tuple[FunctionInfo, Site, tuple[CallSite, ...]]]:
    """Yield the functions around an event, each with the place in it that leads there and the calls that lead to it."""
    chain = event.key.chain
    for depth, step in enumerate(chain):
        yield step.caller, step.site, chain[:depth]
    yield event.function, event.site, chain


def _loops_readied_before(function: FunctionInfo, site: Site, model: str) -> Iterator[ast.AST]:
    """Yield the loops of `function` around a place that train() of the model stands before."""
    call = call_at(function, site)
    for loop in loops_around(function, call) if call is not None else ():
        if any(ast.unparse(s) == f"{model}.train()" for s in run_before(function, loop)):
            yield loop


def _place_below(event: Event, chain: tuple[CallSite, ...]) -> Site:
    """Return where the function that `chain` leads to runs an event or calls what does."""
    return next((step.site for step in event.key.chain[len(chain) :]), event.site)


def _asks_for_gradients(function: FunctionInfo) -> bool:
    """Tell whether a function says what requires a gradient: the input of an attack does, frozen weights do not."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr in ("requires_grad", "requires_grad_"))
        or (isinstance(node, ast.keyword) and node.arg == "requires_grad")
        for node in walk_own(function)
    )


def _is_in(loop: ast.AST, function: FunctionInfo, site: Site | None, end: Site | None = None) -> bool:
    """Tell whether a place is in a loop of `function`, and done before another one is."""
    around = site_of(function.module, loop)
    if site is None or (end is not None and site[3:] >= end[3:]):
        return False
    return (around.path, around.row) <= (site.path, site.row) <= (around.path, around.end_row)


def _is_set_in(loop: ast.AST, function: FunctionInfo, fact: ModeFact, steps: Iterable[CallSite]) -> bool:
    """Tell whether a mode is set in a loop of `function`, or in what is called there by `steps`."""
    return _is_in(loop, function, fact.site) or any(holds(step.callee, fact.site) for step in steps)


# -- an evaluation before training begins ------------------------------------------------------------------------


def _knows_one_mode(event: Event) -> bool:
    """Tell whether nothing around training speaks of training mode, in which the model was built.

    What is loaded may be tuned in evaluation mode on purpose, with the statistics of its norms as they are. An agent
    has a method to act and one to learn.
    """
    new = all(snapshot.obj.weights == frozenset({RANDOM}) for snapshot in event.snapshots)
    if not new or not steppers(event) or not list(_optimizers_of(event)):
        return False
    if _is_said_to_be_meant(event, [event]) or _inherits_from_out_of_sight(event):
        return False
    return not any(_SWITCHES_TO_TRAINING.search(name) for f in _around_and_beside(event) for name in f.callees)


def _left_by_evaluations(event: Event, everything: Iterable[Event]) -> set[ModeFact]:
    """Return the modes that functions which run a model and are not around its training set there, and left so."""
    around = set(functions_around(event))
    return {
        fact
        for other in everything
        if other.function not in around
        for snapshot in other.snapshots
        for fact in snapshot.modes
        if holds(other.function, fact.site)
    }


def _left_by_a_look(event: Event, everything: Iterable[Event]) -> set[ModeFact]:
    """Return the eval() of the training's own block that is for the look at held-out data behind it, before training.

    All is ready then, the optimizer too, which gets the whole model. Who tunes in evaluation mode puts the model into
    it when it is made, or before the loop, freezes parts, or says why.
    """
    function, text = event.function, event.text
    call = call_at(function, event.site)
    if call is None or _asks_for_gradients(function) or _is_said_to_be_meant(event, [event]):
        return set()
    before = list(run_before(function, call))
    switched = [statement for statement in before if ast.unparse(statement) == f"{text}.eval()"]
    optimizers, stepping = list(_optimizers_of(event)), steppers(event)
    made = [
        node.lineno
        for node in own(function, ast.Assign)
        if node.value in optimizers and f"{ast.unparse(node.targets[0])}.step" in stepping
    ]
    if not switched or not made or max(made) >= switched[-1].lineno:
        return set()
    return {
        fact
        for other in everything
        if not other.training and any(_is_in(statement, function, other.site) for statement in before)
        if over_held_out_data(other) or held_out.is_drawn(other)
        for snapshot in other.snapshots
        for fact in snapshot.modes
    }


_SWITCHES_TO_TRAINING = re.compile(r"(^|_)train(_mode|ing)?$|^set_train|_training$")
_FREEZES = re.compile(r"freez|only|lora|peft|adapter", re.I)
"""Functions that let a part of a model learn."""


def _is_said_to_be_meant(event: Event, same: Iterable[Event]) -> bool:
    """Tell whether the functions in which a mode is set say why, or let a part of the model alone learn."""
    sites = [fact.site for other in same for snapshot in other.snapshots for fact in snapshot.modes]
    for function in {*_around_and_beside(event), *(other.function for other in same)}:
        if any(_FREEZES.search(name) for name in function.callees):
            return True
        switches = [call_at(function, site) for site in sites if site is not None]
        if any(call is not None and says(function.module, call, _ON_PURPOSE) for call in switches):
            return True
    return False


def _inherits_from_out_of_sight(event: Event) -> bool:
    """Tell whether the class of a function around an event has a base that may see to the mode."""
    owners = [function.cls for function in functions_around(event) if function.cls is not None]
    return any(base != "object" for owner in owners for base in owner.bases)


_ON_PURPOSE = re.compile(
    r"fr[eo]ez|frozen|eval(uation)?[ -]mode|batch ?norm|\bbn\b|statistics|purpose|deliberate|dropout off",
    re.I,
)


# -- eval() at the top of the training itself --------------------------------------------------------------------


def copied_from_evaluation(event: Event) -> set[ModeFact]:
    """Return the eval() calls with which a function that trains a whole model begins, as evaluations beside it do.

    All is made ready then, the optimizer too, which gets the whole model. Nothing around says train(), and nobody says
    why: who tunes in evaluation mode on purpose freezes parts, or tells.
    """
    function = event.function
    made = [call.lineno for call in _optimizers_of(event) if call in function.calls]
    if speaks_of_inference(function.name) is not False or not made:
        return set()
    if _is_said_to_be_meant(event, [event]):
        return set()
    beside = list(function.cls.methods.values()) if function.cls is not None else function.module.functions
    if any(_SWITCHES_TO_TRAINING.search(name) for other in beside for name in other.callees):
        return set()
    evaluations = (other for other in beside if speaks_of_inference(other.name))
    written = {ast.unparse(call) for other in evaluations for call in other.calls_of("eval")}
    facts = {fact for snapshot in event.snapshots for fact in snapshot.modes}
    calls = [call_at(function, fact.site) for fact in facts if fact.site is not None]
    return facts if all(c is not None and c.lineno < min(made) and ast.unparse(c) in written for c in calls) else set()


# -- optimizers --------------------------------------------------------------------------------------------------


def steppers(event: Event) -> set[str]:
    """Return what takes steps in the statement of a script, or of a function, in which a model is trained.

    Where that is no block of a function, but one line after the other, what does so in it.
    """
    function, row = event.function, event.site.row
    around = [node for node in function.body if node.lineno <= row <= (node.end_lineno or 0)]
    if not function.is_body and not any(hasattr(node, "body") for node in around):
        around = function.body
    calls = (node for statement in around for node in ast.walk(statement) if isinstance(node, ast.Call))
    return {ast.unparse(call.func) for call in calls if last_name(call) == "step"}


def _around_and_beside(event: Event) -> set[FunctionInfo]:
    """Return the functions around an event, and the methods of the object whose method one of them is."""
    around = functions_around(event)
    own = (function.cls for function in around if function.cls is not None)
    return {*around, *(method for cls in own for method in cls.methods.values())}


def _optimizers_of(event: Event) -> Iterator[ast.Call]:
    """Yield the calls that make an optimizer of all parameters of a model, by the same name."""
    parameters = f"{event.text}.parameters()"
    for call in _optimizers_made(event):
        if any(ast.unparse(argument) == parameters for argument in arguments_of(call)):
            yield call


def _is_optimized_elsewhere(event: Event) -> bool:
    """Tell whether optimizers are made in sight, each of the parameters of something else or of listed tensors."""
    given = [ast.unparse(argument) for call in _optimizers_made(event) for argument in arguments_of(call)[:1]]
    return bool(given) and all(_OF_SOMETHING.search(text) and event.text not in text for text in given)


_OF_SOMETHING = re.compile(r"^\[|\.parameters\(")
_OPTIMIZER = re.compile(r"Adam|SGD|RMSprop|Adagrad|LBFGS|Lion|Optim|^optim", re.I)


def _optimizers_made(event: Event) -> Iterator[ast.Call]:
    for function in _around_and_beside(event):
        yield from (call for call in function.calls if _OPTIMIZER.search(last_name(call.func) or ""))
