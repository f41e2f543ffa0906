"""A forward on an inference path while the model may be in training mode."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence, Severity
from modellint.static.believed import is_asked_without_weights
from modellint.static.comments import says, says_mode_is_meant
from modellint.static.confidence import Case, weighed
from modellint.static.context import FileContext, Finding
from modellint.static.dependence import NO, OF_LIBRARY, YES
from modellint.static.detectors.woken_parts import woken
from modellint.static.evidence import PREDICTS, as_trained, is_explained, is_inference, is_no_model, wrong_call
from modellint.static.flow.events import FORWARD, Event, Loop, Snapshot
from modellint.static.flow.frames import call_at, holds
from modellint.static.flow.libraries import SAVED_WHOLE
from modellint.static.flow.values import (
    ENTRY,
    EVAL,
    JUST_BUILT,
    MIXED,
    OFF,
    RANDOM,
    TRAIN,
    UNKNOWN,
    ModeFact,
    Site,
    kinds,
)
from modellint.static.guards import assignments, conditions, names_mode, own, path_to, statements_before
from modellint.static.hidden import hides_children
from modellint.static.left_open import (
    is_begun_elsewhere,
    is_fitted_by_a_trainer,
    is_never_readied,
    is_never_switched,
    leaves_it_to_others,
    readies_another,
    readies_the_wrong_one,
    shows_what_is_meant,
    sibling_sets_eval,
)
from modellint.static.merge import merged
from modellint.static.narrowing import attribute_of
from modellint.static.overriding import forgets_eval
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.names import last_name, names_in
from modellint.static.project.trees import walk
from modellint.static.purpose import ACTING, functions_around, named_for_inference, names_made_of
from modellint.static.readied import (
    is_made_for_this,
    is_run_in_eval_alone,
    readies_in_forward,
    readies_itself,
    readies_parts_run,
    runs_readied_parts,
)
from modellint.static.seldom import seldom_switched
from modellint.static.sites import Place, blamed_call, called_from, calls_at, places, shown_at, written_at
from modellint.static.snapshots import has_loaded_weights, in_eval, in_train, open_mode, records


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report forwards of models that were left in training mode, one finding for one cause in one scope."""
    steps = _steps_of_training(context)
    yield from merged(found for place in places(context, FORWARD) for found in _judge(place, steps, context))
    yield from woken(context)


def _judge(place: Place, steps: Steps, context: FileContext) -> Iterator[tuple[object, Finding]]:
    if all(map(_is_without_dropout, place.events)):
        return
    bad: list[tuple[Event, Snapshot]] = []
    good: list[Event] = []
    trained: list[Event] = []
    unclear = False
    for event in place.events:
        relevant = [
            s
            for s in event.snapshots
            if is_inference(event, s) or is_explained(event, s) or is_asked_without_weights(context, event, s)
        ]
        relevant = [s for s in relevant if not _follows_owner(event, s, context)]
        relevant = [] if _repeats_a_step(event, steps) else relevant
        relevant = [s for s in relevant if not _is_function(event, s, context) and not _gathers_statistics(event, s)]
        relevant = [s for s in relevant if not readies_in_forward(event, s, context)]
        relevant = [s for s in relevant if not (readies_parts_run(event, s, context) or _is_put_back(event, s))]
        relevant = [s for s in relevant if not (_is_switched_for_a_while(event, s) or _is_set_apart(event, s, context))]
        wrong = [s for s in relevant if in_train(s) or as_trained(event, s) or seldom_switched(s.modes, context)]
        if wrong:
            bad.append((event, wrong[0]))
        elif relevant and all(in_eval(s) for s in relevant):
            good.append(event)
        elif relevant:
            unclear = True
        elif event.training:
            trained.append(event)
    if not bad:
        yield from _judge_saved(place, [*good, *trained], context)
        yield from _judge_open(place, good, trained, context)
        return
    event, snapshot = next((case for case in bad if not hides_children(case[1], context.classes)), bad[0])
    if snapshot.obj.depends == NO and (not has_loaded_weights(snapshot) or _knows_of_modes(event, context)):
        # a remark is for what is shipped, and for authors who have not thought of modes
        yield from _judge_open(place, good, trained, context)
        return
    # code shared with training is right there: what is wrong is the call that leads to it from elsewhere
    ways = {event.key.chain for event, _ in bad}
    good += [other for other in trained if other.key.chain not in ways]
    if blamed_call(event, good, context) is not None:
        calls = [blamed_call(event, good, context) for event, _ in bad]
        instead = shown_at(calls, good, place, context)
        for (event, snapshot), call in zip(bad, calls, strict=True):
            if call is None:
                continue
            sure = instead is None and not open_mode(snapshot)
            confidence = Confidence.CERTAIN if sure else Confidence.LIKELY
            confidence = weighed("ML101", confidence, Case(event, snapshot, context))
            yield _cause(event, snapshot), _finding(event, snapshot, instead or call.site, confidence, context)
        return
    confidence = Confidence.CERTAIN
    same = [s for other in good if other.key.oid == event.key.oid for s in other.snapshots]
    modes = snapshot.modes.union(*(s.modes for s in same))
    if seldom_switched(modes, context):
        confidence, snapshot = Confidence.LIKELY, snapshot._replace(modes=modes)
    elif same or (unclear and not event.key.chain) or readies_itself(event, context):
        confidence = Confidence.POSSIBLE  # the same code, under another condition, is right
    elif (
        hides_children(snapshot, context.classes)
        or _has_learned_in_part(event, snapshot)
        or _draws_by_dropout(snapshot)
        or any(says_mode_is_meant(event.function, event.site.row) for event, _ in bad)
        or _is_said_where_it_is_set(snapshot, context)
    ):
        confidence = Confidence.POSSIBLE
    elif event.function.cls is not None or event.key.chain or open_mode(snapshot) or _is_out_of_sight(snapshot):
        confidence = Confidence.LIKELY
    confidence = weighed("ML101", confidence, Case(event, snapshot, context))
    finding = _finding(event, snapshot, place.site, confidence, context)
    yield _cause(event, snapshot), _with_callers(finding, [event for event, _ in bad])


def _is_said_where_it_is_set(snapshot: Snapshot, context: FileContext) -> bool:
    """Tell whether a comment where each mode was set says that it is no oversight."""
    calls = [case for fact in snapshot.modes for case in calls_at(context, fact.site)]
    return bool(calls) and all(says(function.module, call, _NO_OVERSIGHT) for function, call in calls)


_NO_OVERSIGHT = re.compile(
    r"(should|must|has to|needs? to|have to|want\w*)\b.{0,30}\btrain(ing)?[ _-]?mode|"
    r"not a bug|on purpose|intention|deliberate",
    re.I,
)


def _knows_of_modes(event: Event, context: FileContext) -> bool:
    """Tell whether the function runs another model in evaluation mode: what has no mode needs no switch there."""
    beside = (other for other in context.flow.events if other.function is event.function)
    return any(other.key.oid != event.key.oid and all(in_eval(s) for s in other.snapshots) for other in beside)


def _gathers_statistics(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether the function that runs a forward, or that called train() for it, begins running statistics anew."""
    sites = [fact.site for fact in snapshot.modes if fact.by_train]
    for function in functions_around(event):
        if function is event.function or any(holds(function, site) for site in sites):
            stored = (node for node in own(function, ast.Attribute) if isinstance(node.ctx, ast.Store))
            if "reset_running_stats" in function.callees or any(node.attr == "running_mean" for node in stored):
                return True
    return False


def _is_switched_for_a_while(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether a function calls train() only where the mode that it found is another: it means that one.

    Dropout that samples (Monte Carlo) is written so: `was = self.training`, `if not was: self.train()`, and back.
    """
    return any(
        names_mode(function, test)
        for fact in snapshot.modes
        if fact.by_train and fact.site is not None
        for function in functions_around(event)
        if (call := call_at(function, fact.site)) is not None
        for test, _ in conditions(function, call)
    )


def _is_put_back(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether losses are what a forward behind train() is for: detectors tell them in training alone.

    It stands between train() and eval(), or right behind train() where the losses have names: `sum(losses.values())`.
    The same pair around predictions is the wrong way round.
    """
    function, forward = event.function, call_at(event.function, event.site)
    calls = [call_at(function, fact.site) for fact in snapshot.modes if fact.site is not None]
    if not calls or forward is None:
        return False
    names = names_made_of(function, forward)
    if not any(map(_LOSSES.search, names)):
        return False
    behind = {ast.unparse(call) for call in function.calls_of("eval") if call.lineno > event.site.row}
    named = any(ast.unparse(call.func).removesuffix(".values") in names for call in function.calls_of("values"))
    return all(
        call is not None
        and isinstance(call.func, ast.Attribute)
        and (
            f"{ast.unparse(call.func.value)}.eval()" in behind
            or (named and _stands_right_before(function, call, forward))
        )
        for call in calls
    )


def _stands_right_before(function: FunctionInfo, call: ast.Call, later: ast.Call) -> bool:
    """Tell whether a call is the statement before the one, or the block, in which another call stands: no training."""
    path = path_to(function, call)
    outer = path[-3] if len(path) > 2 else function
    blocks = (node for node in path_to(function, later) if isinstance(node, ast.stmt))
    behind = (node for node in blocks if statements_before(outer, node)[-1:] == path[-2:-1])
    return any(not any(getattr(part, "attr", None) == "backward" for part in walk(node)) for node in behind)


_LOSSES = re.compile(r"(^|_)loss")


def _is_set_apart(event: Event, snapshot: Snapshot, context: FileContext) -> bool:
    """Tell whether train() of a part stands beside eval() of the whole, where nothing trains: it is meant to be so."""
    if event.model_trained:
        return False
    return any(
        ast.unparse(call.func).removesuffix(".train").startswith(f"{whole}.")
        for fact in snapshot.modes
        if fact.by_train
        for function, call in calls_at(context, fact.site)
        for whole in _put_into_eval(function)
    )


def _put_into_eval(function: FunctionInfo) -> Iterator[str]:
    """Yield what a function calls eval() of, and the variables it gives that to: `net = wrap(net).eval()`."""
    for call in function.calls_of("eval"):
        yield ast.unparse(call.func).removesuffix(".eval")
    for name, value in assignments(function):
        if isinstance(value, ast.Call) and last_name(value) == "eval":
            yield name


def _is_out_of_sight(snapshot: Snapshot) -> bool:
    """Tell whether nothing is known of a model but that it was built without weights, hence in training mode."""
    return any(fact.how == JUST_BUILT for fact in snapshot.modes)


def _is_function(event: Event, snapshot: Snapshot, context: FileContext) -> bool:
    """Tell whether a module of the project has neither a mode nor weights: a loss, a metric, a transform."""
    obj = snapshot.obj
    if obj.cls is None and (_has_members_of_no_mode(event, context) or runs_readied_parts(event, context)):
        return True
    asked, classes = event.key.detail, context.classes
    if isinstance(obj.cls, ClassInfo) and (
        classes.has_no_mode(obj.cls, asked) or classes.runs_without_mode(obj.cls, asked)
    ):
        return True  # a part of it is asked
    if obj.depends != NO or not isinstance(obj.cls, ClassInfo):
        return False
    return context.weights.of(obj.cls).is_weightless


def _has_members_of_no_mode(event: Event, context: FileContext) -> bool:
    """Tell whether what is asked of a model is a member of classes of the file alone that have no mode.

    `model.validation_step(batch)`, `model.decoder(z)`: the file defines one class that has such a thing.
    """
    name, classes = event.key.detail, context.classes
    modules = filter(classes.is_module, event.function.module.classes)
    having = [cls for cls in modules if name in cls.methods or classes.builds_child(cls, name)]
    return bool(having) and all(
        classes.dependence(cls).answer == NO or classes.runs_without_mode(cls, name)
        if name in cls.methods
        else classes.has_no_mode(cls, name)
        for cls in having
    )


def _follows_owner(event: Event, snapshot: Snapshot, context: FileContext) -> bool:
    """Tell whether a module runs a part that it built, by a method of its own: its callers set the mode of all."""
    cls = event.root.cls
    if cls is None or not context.classes.may_be_module(cls):
        return False
    features = snapshot.grad.state != OFF and PREDICTS.isdisjoint(event.uses)
    built = snapshot.obj.weights == frozenset({RANDOM})  # by a configuration: as good as a layer of its own
    mine = (features or built) and event.text.startswith(f"{event.root.self_name}.")
    if is_made_for_this(event):
        return False
    if is_run_in_eval_alone(event, context):
        return True
    set_here = [fact for fact in snapshot.modes if fact.mode != ENTRY]
    return bool(set_here) and all(
        fact.by_constructor or (mine and fact.by_library) or _is_set_as_built(fact, cls, context) for fact in set_here
    )


def _is_set_as_built(fact: ModeFact, cls: ClassInfo, context: FileContext) -> bool:
    """Tell whether a constructor of the class calls `train()`, the mode of new parts anyway: eval() comes later."""
    builders = (owner.methods.get("__init__") for owner in context.project.ancestry(cls)[0])
    return fact.by_train and any(builder is not None and holds(builder, fact.site) for builder in builders)


def _has_learned_in_part(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether a model was neither loaded nor trained, and what depends on the mode is a library's network in it.

    That may have weights, the layers beside it have none yet: its predictions are no predictions.
    """
    obj = snapshot.obj
    is_all = isinstance(obj.cls, str) and obj.detail == OF_LIBRARY + obj.cls.rpartition(".")[2]
    in_part = obj.detail.startswith(OF_LIBRARY) and not is_all
    return obj.weights == frozenset({RANDOM}) and not event.model_trained and in_part


_TRANSLATES = re.compile(r"Generator")
_RIVAL = re.compile(r"Discriminator|Critic")


def _draws_by_dropout(snapshot: Snapshot) -> bool:
    """Tell whether dropout alone depends on the mode, in a generator whose file also defines a discriminator.

    Image translation (pix2pix, DualGAN) has no other noise: it samples by dropout, at test time as well.
    """
    cls = snapshot.obj.cls
    if not isinstance(cls, ClassInfo) or not _TRANSLATES.search(cls.name) or "Dropout" not in snapshot.obj.detail:
        return False
    if not any(_RIVAL.search(other.name) for other in cls.module.classes):
        return False
    own = (f for f in cls.module.functions if f.cls is None or not _RIVAL.search(f.cls.name))
    return not any(name.startswith("BatchNorm") for function in own for name in function.callees)


_SWITCHES_OFF = re.compile(r"^(disable|remove|zero|turn_off|switch_off)_(all_)?dropout")


def _is_without_dropout(event: Event) -> bool:
    """Tell whether the code around a forward takes the dropout out of models instead of switching their mode."""
    for function in functions_around(event):
        scopes = function.cls.methods.values() if function.cls is not None else (function,)
        if any(_SWITCHES_OFF.search(name) for scope in scopes for name in scope.callees):
            return True
    return False


def _judge_saved(place: Place, others: list[Event], context: FileContext) -> Iterator[tuple[object, Finding]]:
    """A model that was saved as a whole comes back in the mode it was saved in, and training saves it on the way."""
    for event in place.events:
        for snapshot in event.snapshots:
            saved = bool(snapshot.modes) and all(fact.how == SAVED_WHOLE for fact in snapshot.modes)
            if saved and is_inference(event, snapshot) and ACTING.search(event.key.detail) is None:
                confidence = weighed("ML101", Confidence.LIKELY, Case(event, snapshot, context))
                site = _blamed(event, place, others)
                yield _cause(event, snapshot), _finding(event, snapshot, site, confidence, context)
                return


def _blamed(event: Event, place: Place, others: list[Event]) -> Site:
    """Return where an event is reported: at the call that leads here, if `others` come here with good reason."""
    call = wrong_call(event, others) if others else None
    return place.site if call is None else call.site


def _judge_open(
    place: Place, good: list[Event], trained: list[Event], context: FileContext
) -> Iterator[tuple[object, Finding]]:
    """No caller in sight: only what the author shows to believe tells that eval() is missing here.

    That is a no_grad around the forward, or another method of the class that calls eval() before it runs the model;
    or nobody calls it at all, where the class trains the model as well. Where others come here with `good` reason, or
    to train, the call that leads here is wrong.
    """
    for event in place.events:
        if _is_called_in_its_class(event.root, context):
            continue  # by a method that readies the model, or may
        for snapshot in event.snapshots:
            left_open = open_mode(snapshot)
            set_elsewhere = (
                left_open
                or snapshot.obj.is_mere_result
                or _depends_on_callers(snapshot)
                or _is_switched_by_its_class(event, snapshot, place, context)
            )
            if not set_elsewhere:
                continue
            if snapshot.obj.depends == NO or is_no_model(event, snapshot) or _follows_owner(event, snapshot, context):
                continue
            if _is_right_elsewhere(event, snapshot, context):
                site = _blamed(event, place, [*good, *trained])
                finding = _finding(event, snapshot, site, Confidence.LIKELY, context)
                yield _cause(event, snapshot), _with_callers(finding, place.events)
                return
            if good or not left_open or not is_inference(event, snapshot):
                continue
            if is_begun_elsewhere(event) and not has_loaded_weights(snapshot):
                continue
            if not shows_what_is_meant(event, snapshot, context):
                continue
            if _computes_a_loss(event, context):
                continue
            concludes = has_loaded_weights(snapshot) or not PREDICTS.isdisjoint(event.uses)
            meant = says_mode_is_meant(event.function, event.site.row)
            unknown = meant or leaves_it_to_others(event, snapshot, context)
            confidence = Confidence.LIKELY if concludes and not unknown else Confidence.POSSIBLE
            confidence = weighed("ML101", confidence, Case(event, snapshot, context))
            yield _cause(event, snapshot), _finding(event, snapshot, place.site, confidence, context)
            return


def _is_called_in_its_class(method: FunctionInfo, context: FileContext) -> bool:
    """Tell whether a method of the class, or of one that it inherits from, calls this one of the same object."""
    family = context.project.ancestry(method.cls)[0] if method.cls is not None else []
    return any(
        attribute_of(call.func, other.self_name or "") == method.name
        for cls in family
        for other in cls.methods.values()
        for call in other.calls_of(method.name)
    )


_LOSS = re.compile(r"(^|_)loss(es)?$")


def _computes_a_loss(event: Event, context: FileContext) -> bool:
    """Tell whether a function is named for a loss and runs a model with its graph, too: without it, it gets targets."""
    if _LOSS.search(event.function.name) is None:
        return False
    return any(
        other.function is event.function and any(records(s) for s in other.snapshots) for other in context.flow.events
    )


def _depends_on_callers(snapshot: Snapshot) -> bool:
    """Tell whether a model is in training mode, or in one that nobody in sight set, unless a caller changed that."""
    return kinds(snapshot.modes) in ({TRAIN, ENTRY}, {UNKNOWN, ENTRY})


Steps: TypeAlias = "dict[tuple[FunctionInfo, FunctionInfo, tuple[Loop, ...]], set[Site]]"
"""Where loops that train call what gives their losses: by caller, callee and the loops around the forward."""


def _steps_of_training(context: FileContext) -> Steps:
    steps: Steps = defaultdict(set)
    for event in context.flow.events:
        if event.training:
            for step in event.key.chain:
                steps[step.caller, step.callee, event.loops].add(step.site)
    return steps


def _repeats_a_step(event: Event, steps: Steps) -> bool:
    """Tell whether a loop that trains calls the function that gives its losses once more on the same in one turn.

    What came of the step is compared with what was before, in the same mode.
    """
    return any(
        _is_given_the_same(step.caller, site, step.site)
        for step in event.key.chain
        for site in steps.get((step.caller, step.callee, event.loops), set()) - {step.site}
    )


def _is_given_the_same(function: FunctionInfo, *sites: Site) -> bool:
    """Tell whether two calls are written alike, and nothing that they are given is bound anew between them."""
    first, second = (call_at(function, site) for site in sorted(sites))
    if first is None or second is None or ast.dump(first) != ast.dump(second):
        return False
    given = {name for value in (*first.args, *first.keywords) for name in names_in(value)}
    stored = (node for node in own(function, ast.Name) if isinstance(node.ctx, ast.Store))
    return not any(first.lineno < node.lineno < second.lineno and node.id in given for node in stored)


def _is_right_elsewhere(event: Event, snapshot: Snapshot, context: FileContext) -> bool:
    """Tell whether other code shows that the model has to be readied for this forward.

    Or that nobody readies it, and it cannot be right for this method and for the one that trains.
    """
    inference = is_inference(event, snapshot)
    if readies_the_wrong_one(event, snapshot, context):
        return True
    if not named_for_inference(event):
        return inference and _gives_numbers(event) and sibling_sets_eval(event, context)
    return (
        (inference and sibling_sets_eval(event, context))
        or readies_another(event, snapshot, context)
        or forgets_eval(event, context)
        or (inference and (is_never_switched(event, context) or is_fitted_by_a_trainer(event, context)))
        or is_never_readied(event, snapshot, context)
    )


def _gives_numbers(event: Event) -> bool:
    """Tell whether a method that does not train cuts off what it gets of a model, and goes on with the numbers."""
    return not event.root_trains and "detached" in event.uses


def _is_switched_by_its_class(event: Event, snapshot: Snapshot, place: Place, context: FileContext) -> bool:
    """Tell whether a method runs what its object builds, in a mode of which only the other methods can tell."""
    cls = event.root.cls
    if cls is None or kinds(snapshot.modes) != {UNKNOWN}:
        return False
    held = written_at(event, place.site, context).removeprefix(f"{event.root.self_name}.")
    return context.classes.builds_child(cls, held.partition(".")[0])


def _with_callers(finding: Finding, bad: Iterable[Event]) -> Finding:
    """Add the calls by which `bad` came about."""
    steps = {step.site: called_from(step) for event in bad for step in event.key.chain}
    related = dict.fromkeys((*finding.related, *list(steps.values())[:_MAX_CALLERS]))
    return dataclasses.replace(finding, related=tuple(related))


_MAX_CALLERS = 5


def _cause(event: Event, snapshot: Snapshot) -> object:
    """What makes two findings one: the same scope, and the same thing that left the model in training mode."""
    facts = frozenset((fact.site, fact.how) for fact in snapshot.modes)
    return event.function, facts if any(site for site, _ in facts) else event.key.oid


def _finding(event: Event, snapshot: Snapshot, site: Site, confidence: Confidence, context: FileContext) -> Finding:
    obj, model = snapshot.obj, written_at(event, site, context)
    related: list[tuple[Site, str]] = []
    reason = "nothing here calls eval()"
    if as_trained(event, snapshot):
        reason = "in which it is trained as well; nothing calls eval() in between"
    for fact in sorted(fact for fact in snapshot.modes if fact.site is not None):
        assert fact.site is not None
        if fact.mode == EVAL:
            reason = f"eval() on line {fact.site.line_seen_from(site.path)} does not always run"
            related.append((fact.site, "not every run comes here"))
            break
        if fact.how == SAVED_WHOLE:
            reason = "torch.load brings it back in the mode it was saved in, and nothing here calls eval()"
            related.append((fact.site, "loaded here"))
        elif fact.how == JUST_BUILT:
            reason = "it was just built, hence in training mode, and nothing calls eval()"
            related.append((fact.site, JUST_BUILT))
        elif fact.by_train:
            reason = f"train() on line {fact.site.line_seen_from(site.path)} put it there"
            related.append((fact.site, "put into training mode here"))
        elif fact.mode == MIXED:
            reason = f"{fact.how.removesuffix('()')} leaves parts of it in training mode and nothing calls eval()"
            related.append((fact.site, "parts of it are in training mode from here on"))
        else:
            reason = f"{fact.how.removesuffix('()')} returns it in training mode and nothing calls eval()"
            related.append((fact.site, "created here, in training mode"))
    related.append((event.site, "the forward"))
    related += [called_from(step) for step in reversed(event.key.chain)]
    active = {YES: "dropout and batch statistics are"}.get(obj.depends, "dropout and batch statistics would be")
    if obj.detail:
        active = f"{obj.detail} is"
    no_grad = ": no_grad does not switch it off" if snapshot.grad.state == OFF and obj.detail else ""
    info = obj.depends == NO
    details = {
        "model": model,
        "reason": reason,
        "active": f"{active} still active{no_grad}",
    }
    message = None
    if info:
        message = f"`{model}` runs in training mode ({reason}); nothing in it depends on the mode today"
    elif not in_train(snapshot):
        message = f"`{model}` may run in training mode ({reason}); {active} still active{no_grad}"
    return Finding(site, details, confidence, Severity.INFO if info else None, message, tuple(related))
