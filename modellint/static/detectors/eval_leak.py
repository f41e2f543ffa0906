"""Training goes on after an evaluation that left the model in evaluation mode."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence, Severity
from modellint.static.attributes import stored
from modellint.static.confidence import Case, weighed
from modellint.static.context import FileContext, Finding
from modellint.static.dependence import NO
from modellint.static.detectors.always_in_eval import (
    copied_from_evaluation,
    left_by_oversight,
    steppers,
    undone_in_each_turn,
)
from modellint.static.detectors.one_flag import put_back_alone
from modellint.static.flow.asking import is_open
from modellint.static.flow.events import EVAL_AGAIN, FORWARD, CallSite, Event, Snapshot
from modellint.static.flow.frames import call_at, holds, site_of
from modellint.static.flow.values import ENTRY, EVAL, OFF, TRAIN, UNKNOWN, ModeFact, Modes, Site, kinds
from modellint.static.guards import (
    assignments,
    conditions,
    loops_around,
    own,
    path_to,
    statements_before,
    unnegated,
    values_of,
    walk_own,
)
from modellint.static.merge import merged
from modellint.static.narrowing import MODULE
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.facts import is_left_open, is_none
from modellint.static.project.names import arguments_of, last_name, names_in
from modellint.static.purpose import calls_around, calls_leading_to, functions_around
from modellint.static.sites import Place, called_from, calls_at, in_order, places, seen_by_callers, seen_in
from modellint.static.snapshots import open_mode


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report training forwards that an evaluation's eval() reaches, of models that also train in training mode."""
    everything = seen_in(context)
    alone = list(put_back_alone(context))
    told = {site for finding in alone for site, _ in finding.related}
    found = []
    leaking: set[Site] = set()
    evaluated = _evaluated(everything)
    for place in places(context, FORWARD):
        for event, facts in _leaks(place.events, everything, evaluated, context):
            leaking.update(facts)
            site = min(facts)
            if site in told:
                continue
            steps = _steps_to(event, facts[site], everything)
            severity, remark = _matters(event, context)
            finding = Finding(
                place.site,
                {"model": event.text, "line": site.line_seen_from(place.site.path), "remark": remark},
                weighed("ML103", _looks(event), Case(event, event.snapshots[0], context, tuple(facts))),
                severity,
                related=(
                    (site, "put into evaluation mode here, and never back"),
                    *((step.site, f"by {step.callee.qualname}, called here") for step in steps),
                    *_by_helpers(steps, site, context),
                ),
            )
            found.append(((place.scope(event), facts[site]), finding))
    findings: dict[Site, Finding] = {}
    closed = (finding for finding in _closed_with_eval(context) if finding.site not in leaking)
    for finding in (*merged(found), *_left_to_trainers(context), *closed):
        findings.setdefault(finding.site, finding)
    yield from findings.values()
    yield from alone


def _matters(event: Event, context: FileContext) -> tuple[Severity | None, str]:
    """Return how much the mode of a model matters, None for as much as the rule says, and a remark on it."""
    without_mode = all(snapshot.obj.depends == NO for snapshot in event.snapshots)
    if without_mode and not all(_is_of_heirs(snapshot, context) for snapshot in event.snapshots):
        return Severity.INFO, "; nothing in it depends on the mode today"
    return None, ""


def _is_of_heirs(snapshot: Snapshot, context: FileContext) -> bool:
    """Tell whether a module has no forward of its own: the classes that inherit from it add that and the layers."""
    cls = snapshot.obj.cls
    if not isinstance(cls, ClassInfo) or not _BASES.issuperset(context.project.ancestry(cls)[1]):
        return False
    forward = context.project.method(cls, "forward")
    # nor does the file give a class one by another name: `forward = run`, `self.forward = self.fast`
    return "forward =" not in cls.module.text if forward is None else is_left_open(forward)


_BASES = MODULE | {"abc.ABC"}


Evaluated: TypeAlias = "set[tuple[int | ClassInfo, Site | None]]"
"""The models that were evaluated, or their classes, each with where it was put into evaluation mode."""


def _evaluated(everything: Iterable[Event]) -> Evaluated:
    """Return where models were put into evaluation mode that were evaluated then, or were before a second eval()."""
    found: Evaluated = set()
    for event in everything:
        if event.key.kind == FORWARD and not event.training:
            sites = {fact.site for snapshot in event.snapshots for fact in snapshot.modes if _left_in_eval(fact)}
            found |= {(event.key.oid, site) for site in sites}
            # `net.infer(x)` runs the parts of the network
            found |= {(cls, site) for site in sites if (cls := event.function.cls) is not None}
    for event in everything:
        if any((event.key.oid, site) in found for site in _switched_at(event)):
            found.add((event.key.oid, event.site))  # where it is no second eval(), no mode is set there
    return found


def _leaks(
    events: Iterable[Event], everything: Sequence[Event], evaluated: Evaluated, context: FileContext
) -> Iterator[tuple[Event, dict[Site, ModeFact]]]:
    """Yield the training forwards among the `events` of a place, with the eval() calls that leak into each."""
    events = list(events)
    for event in events:
        if not event.training or not _steps(event) or _readied_by_a_method(event, context):
            continue
        if _TEACHER.search(event.text):
            continue  # which a student learns from, through its graph perhaps
        if event.wants_gradient and not any("backward" in function.callees for function in functions_around(event)):
            continue  # the derivative by an input is part of the answer: a divergence, a force
        left = (f for f in _leaked(event, events, everything, evaluated) if not _in_the_last_turn(event, f, everything))
        left = (f for f in left if not _put_back(f, context) and not _is_for_no_training(f, event, context))
        left = (f for f in left if not _excludes(f, event, context))
        facts = {f.site: f for f in left if f.site is not None}
        if facts:
            yield event, facts


_TEACHER = re.compile(r"teacher", re.I)


def _is_for_no_training(fact: ModeFact, event: Event, context: FileContext) -> bool:
    """Tell whether eval() is called under an option of the object for which its training returns at once.

    `if self.frozen: self.model.eval()`, and `if self.frozen: return` of the method that trains.
    """
    ends = {
        ast.unparse(node.test)
        for function in functions_around(event)
        for node in function.body
        if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return)
    }
    return any(
        holds and ast.unparse(test) in ends
        for function, call in calls_at(context, fact.site)
        for test, holds in conditions(function, call)
    )


def _excludes(fact: ModeFact, event: Event, context: FileContext) -> bool:
    """Tell whether eval() is called where an option does not hold under which alone its function goes on to train.

    `if not args.train: net.eval()`, and `if args.train and full(memory):` around what trains. The flow tells so many
    options of a run apart and no more.
    """
    for function, call in calls_at(context, fact.site):
        left = _options(function, call)
        asked = {option for _, node in calls_leading_to(event) for option in _options(function, node)}
        if any((option, not wanted) in left for option, wanted in asked):
            return True
    return False


def _options(function: FunctionInfo, node: ast.AST) -> set[tuple[str, bool]]:
    """Return the options of the run that a node stands under, alone or with something else, and whether each holds."""
    found: set[tuple[str, bool]] = set()
    for test, taken in conditions(function, node):
        asked, wanted = unnegated(test, taken)
        together = isinstance(asked, ast.BoolOp) and isinstance(asked.op, ast.And) is wanted
        for operand in asked.values if isinstance(asked, ast.BoolOp) and together else [asked]:
            option, holding = unnegated(operand, wanted)
            if _is_of_the_run(option, function):
                found.add((ast.unparse(option), holding))
    return found


def _is_of_the_run(option: ast.expr, function: FunctionInfo) -> bool:
    """Tell whether a condition is an option that stays for the whole run: `args.train`, which nothing sets there.

    A parameter is another one in each call, and so may be what an object of the class keeps.
    """
    if not isinstance(option, ast.Attribute) or not isinstance(option.value, ast.Name):
        return False
    asked = ast.unparse(option)
    set_here = (ast.unparse(node) for node in own(function, ast.Attribute) if isinstance(node.ctx, ast.Store))
    return option.value.id != function.self_name and asked not in set_here


def _looks(event: Event) -> Confidence:
    pure = any(kinds(s.modes) == {EVAL} for s in event.snapshots)
    return Confidence.CERTAIN if pure and not event.key.chain else Confidence.LIKELY


def _left_to_trainers(context: FileContext) -> Iterator[Finding]:
    """Report the eval() of a function of this file that leaks into training in a file which is not checked itself."""
    evaluating = {
        event.root
        for event in context.flow.events
        if any(holds(event.root, fact.site) for s in event.snapshots for fact in s.modes)  # equivalent: saves the look
    }
    found: dict[Site, Finding] = {}
    for_others = any(map(_trains_as_given, context.flow.events))
    by_callers = list(seen_by_callers(context, evaluating, checked=for_others))
    yield from _through_callers(by_callers, context)
    for everything in by_callers:
        evaluated = _evaluated(everything)
        trained: dict[Site, list[Event]] = defaultdict(list)
        for event in everything:
            if not context.is_checked(event.site.path):
                trained[event.site].append(event)
        for events in trained.values():
            for event, facts in _leaks(in_order(events), everything, evaluated, context):
                confidence = weighed("ML103", _looks(event), Case(event, event.snapshots[0], context, tuple(facts)))
                severity, remark = _matters(event, context)
                message = f"eval() is never undone: `{event.text}` trains in evaluation mode from then on{remark}"
                related = ((event.site, "trained here"),)
                found |= {site: Finding(site, {}, confidence, severity, message, related) for site in facts}
    yield from found.values()


def _trains_as_given(event: Event) -> bool:
    """Tell whether a function trains a model in whatever mode its callers hand it over."""
    own = event.training and not event.key.chain  # equivalent: saves the search for callers
    return own and all(map(open_mode, event.snapshots))  # equivalent: saves the search for callers


def _through_callers(by_callers: Iterable[list[Event]], context: FileContext) -> Iterator[Finding]:
    """Report training forwards of this file that loops in other files lead to, as they do to an evaluation.

    `train_epoch(net)` and `evaluate(net)`, which leaves eval() behind, are right each for itself; where some callers
    see to the mode, and others do not, it is not the forward that is wrong.
    """
    wrong: list[tuple[Event, dict[Site, ModeFact]]] = []
    right: set[Site] = set()
    for everything in by_callers:
        evaluated = _evaluated(everything)
        trained: dict[FunctionInfo, list[Event]] = defaultdict(list)
        for event in everything:
            here = event.site.path == str(context.module.path)
            if here and not is_open(event):  # equivalent: what is found elsewhere is not shown
                trained[event.root].append(event)
        for events in trained.values():
            leaks = list(_leaks(in_order(events), everything, evaluated, context))
            wrong += leaks
            right |= set() if leaks else {event.site for event in events}
    for event, facts in wrong:
        if event.site not in right:
            severity, remark = _matters(event, context)
            words = {"model": event.text, "line": min(facts).line_seen_from(event.site.path), "remark": remark}
            confidence = weighed("ML103", _looks(event), Case(event, event.snapshots[0], context, tuple(facts)))
            left = (min(facts), "put into evaluation mode here, and never back")
            yield Finding(
                event.site, words, confidence, severity, related=(left, *map(called_from, reversed(event.key.chain)))
            )


def _steps(event: Event) -> bool:
    """Tell whether the file around a training forward, or a way to it, takes steps: a backward alone is measured."""
    return any(map(_STEPS.search, calls_around(event)))


_STEPS = re.compile(r"^step$|_step$|^step_|optimi[sz]e|update|minimi[sz]e|train|fit$")


def _put_back(fact: ModeFact, context: FileContext) -> bool:
    """Tell whether the function with an eval() calls train(), too, or eval() is for what never trains.

    On the same object in the other branch of the same condition, for what is frozen stays so, or behind it, where a
    mode was kept; by itself or else by a hook: `self.call("on_model_train")`; or right before a backward, alone.
    """
    for function, call in calls_at(context, fact.site):
        branches = (node for node in walk_own(function) if isinstance(node, ast.If))
        untrained = any(_says_no_training(test, holds) for test, holds in conditions(function, call))
        return (
            untrained
            or _is_behind_backward(function, call)
            or _puts_the_name_back(function, call)
            or _goes_on_without_data(function, call)
            or any(_restores(function, branch, call) for branch in branches)
        )
    return False


def _puts_the_name_back(function: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether the variable that eval() is called of is bound anew, and gets the mode back that was kept before.

    `mode = net.training; net.eval(); if part: net = net.part; ...; net.train(mode)`: to the author it is one model.
    """
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if not isinstance(owner, ast.Name):
        return False
    name = owner.id
    kept = {other for other, value in assignments(function) if ast.unparse(value) == f"{name}.training"}
    if not any(other == name and name in names_in(value) for other, value in assignments(function)):
        return False
    put_back = (other for other in function.calls_of("train") if ast.unparse(other.func) == f"{name}.train")
    return any(not kept.isdisjoint(names_in(other)) for other in put_back)


def _goes_on_without_data(function: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether train() stands behind eval(), and what returns in between does so where it computed nothing.

    `mask = known(targets)`, `if mask is None: return {}`: that is for data that there never are. An option that is
    None, or an argument, is another matter.
    """
    begins = ast.unparse(call.func).removesuffix("eval") + "train()"
    around = list(conditions(function, call))
    ends = [
        other.lineno
        for other in function.calls_of("train")
        if ast.unparse(other) == begins and list(conditions(function, other)) == around
    ]
    left = [node for node in own(function, ast.Return) if call.lineno < node.lineno < max(ends, default=0)]
    return bool(left) and all(any(_lacks(function, *case) for case in conditions(function, node)) for node in left)


def _lacks(function: FunctionInfo, test: ast.expr, holds: bool) -> bool:
    """Tell whether a condition says that a variable which the function itself sets is None."""
    match unnegated(test, holds):
        case ast.Compare(ast.Name(name), [ast.Is()], [end]), True:
            return is_none(end) and name in function.stores
    return False


def _is_behind_backward(function: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether train() and eval() stand around a backward and nothing else: forwards are meant to be without."""
    path = path_to(function, call)
    before = statements_before(path[-3] if len(path) > 2 else function, path[-2])
    begins = ast.unparse(call.func).removesuffix("eval") + "train()"
    match before[-2:]:
        case [first, ast.Expr(value=ast.Call() as last)]:
            return ast.unparse(first) == begins and last_name(last) == "backward"
    return False


def _restores(function: FunctionInfo, branch: ast.If, call: ast.Call) -> bool:
    """Tell whether a condition of `function` calls train() where, or after, eval() is called in `call`."""
    own = ast.unparse(call.func).removesuffix("eval") + "train()"
    body, other = ("\n".join(map(ast.unparse, part)) for part in (branch.body, branch.orelse))
    if branch.lineno > call.lineno:
        return (own in body and _asks_mode(function, branch.test)) or (
            ".train()" in body and _ASKS_FOR_TRAINING.search(other) is not None
        )
    if "backward(" in other:
        return False  # two ways to train, of which one evaluates
    return own in body and any(node is call for statement in branch.orelse for node in ast.walk(statement))


def _readied_by_a_method(event: Event, context: FileContext) -> bool:
    """Tell whether another method of the model, called in its turns, or code around it calls train() on parts."""
    classes = {snapshot.obj.cls for snapshot in event.snapshots if isinstance(snapshot.obj.cls, ClassInfo)}
    parts = {name for cls in classes for method in cls.methods.values() for name, _ in stored(method)}
    switched = (call.func for function in functions_around(event) for call in function.calls_of("train"))
    owners = [func.value for func in switched if isinstance(func, ast.Attribute)]
    if any(isinstance(owner, ast.Attribute) and owner.attr in parts for owner in owners):
        return True
    if any(ast.unparse(owner).startswith(f"{event.text}.") for owner in owners):
        return True  # `model.heads[-1].train()`
    here, (first, last) = event.function, event.function.rows
    loops = [loop.row for loop in event.loops if here.is_body or first <= loop.row <= last]
    begins = min(loops, default=0) if "eval" in here.callees else 0  # else another function may end each turn
    turns = {last_name(call.func) or "" for call in event.function.calls if call.lineno >= begins}
    methods = (context.project.method(cls, name) for cls in classes for name in turns - {"train", "eval"})
    return any(method is not None and "train" in method.callees for method in methods)


def _in_the_last_turn(event: Event, fact: ModeFact, events: Iterable[Event]) -> bool:
    """Tell whether an evaluation ends a loop that trains: `if i == len(loader) - 1:`, nothing trains behind it."""
    begun = [fact.site, *(step.site for step in _steps_to(event, fact, events))]
    rows = {site.row for site in begun if site is not None and site.path == event.site.path}
    within = [call for call in event.function.calls if call.lineno in rows]
    return any(_is_last(test) and holds for call in within for test, holds in conditions(event.function, call))


def _is_last(test: ast.expr) -> bool:
    """Tell whether a condition holds in the last turn of a loop alone."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = [ast.unparse(side) for side in (test.left, test.comparators[0])]
    ends = any(re.match(r"len\(.*\) - 1$", side) for side in sides)
    return ends or (any(re.match(r"len\(", side) for side in sides) and any(side.endswith(" + 1") for side in sides))


_TRAINS = re.compile(r"^(is_?)?(train|training)$", re.I)


def _says_no_training(test: ast.expr, holds: bool) -> bool:
    """Tell whether `test`, an attribute that is an option, says by its truth or its falsehood that nothing trains."""
    test, holds = unnegated(test, holds)
    return isinstance(test, ast.Attribute) and _TRAINS.match(test.attr) is not None and not holds


def _asks_mode(function: FunctionInfo, test: ast.expr) -> bool:
    """Tell whether a condition speaks of the mode: in what it is named, or in what its variables were given."""
    names = names_in(test)
    values = (value for name, value in assignments(function) if name in names)
    return any(_MODE.search(ast.unparse(part)) is not None for part in (test, *values))


_MODE = re.compile(r"train|mode(?!l)", re.I)


_ASKS_FOR_TRAINING = re.compile(r"""\w\(.*["']\w*train\w*["']""")
"""A call that is told to train by the name of a hook: `self.call("on_model_train")`."""


def _steps_to(event: Event, fact: ModeFact, events: Iterable[Event]) -> list[CallSite]:
    """Return the calls that lead from the training function into evaluations which left `fact` behind.

    Where several do, those that no `train()` follows.
    """
    depth = len(event.key.chain)
    found: dict[CallSite, tuple[CallSite, ...]] = {}
    for other in events:
        chain = other.key.chain
        here = other.root is event.root  # equivalent: shown beside the finding
        leads_here = not other.training and chain[:depth] == event.key.chain  # equivalent: shown beside the finding
        if here and leads_here and len(chain) > depth:  # equivalent: shown beside the finding
            if any(fact in snapshot.modes for snapshot in other.snapshots):  # equivalent: shown beside the finding
                found.setdefault(chain[depth], chain[depth:])
    if not found:
        return []
    first, *others = sorted(found, key=_is_undone)
    left = [step for step in others if not _is_undone(step)]  # equivalent: shown beside the finding
    return [*found[first], *left]


def _by_helpers(steps: Iterable[CallSite], site: Site, context: FileContext) -> Iterator[tuple[Site, str]]:
    """Yield where the functions that are called call the one in which eval() stands: `set_mode("eval", models)`."""
    evaluations = dict.fromkeys(step.callee for step in steps)
    for helper, _ in calls_at(context, site):
        for function in evaluations:
            for call in function.calls_of(helper.name):
                yield site_of(function.module, call), f"by {helper.qualname}, called here"


def _is_undone(step: CallSite) -> bool:
    """Tell whether `train()` follows a call in the same block."""
    call = call_at(step.caller, step.site)
    around = path_to(step.caller, call) if call is not None else []
    for train in step.caller.calls_of("train"):
        path: list[ast.AST | FunctionInfo] = [step.caller, *path_to(step.caller, train)]
        inner = next(index for index in reversed(range(len(path))) if isinstance(path[index], ast.stmt))
        earlier = statements_before(path[inner - 1], path[inner])  # type: ignore[arg-type]
        if any(statement in around for statement in earlier):  # equivalent: shown beside the finding
            return True
    return False


def _closed_with_eval(context: FileContext) -> Iterator[Finding]:
    """An evaluation that begins with eval() and ends with eval() where train() was meant."""
    forwards = [event for event in seen_in(context) if event.key.kind == FORWARD]
    for place in places(context, EVAL_AGAIN):
        if place.outside or _trains_in_train_mode(place, forwards) or _trains_in_eval_mode(context):
            continue
        for event in place.events:
            mine = [f for f in forwards if f.function is event.function]
            if any(place.site in _switched_at(f) for f in mine) or _is_another_now(event):
                continue
            if _is_a_copy_that_stays(event):
                continue
            if _is_evaluated_behind(event):
                continue
            begun = _switched_at(event)
            first, last = event.function.rows
            inside = all(site.path == event.site.path and first <= site.row <= last for site in begun)
            between = (f for f in mine if f.key.oid == event.key.oid and f.site < event.site)
            if inside and any(begun & _switched_at(f) for f in between):
                message = f"`{event.text}()` again, behind the evaluation, leaves the model so: was train() meant?"
                yield Finding(place.site, confidence=Confidence.LIKELY, message=message)
                break


def _switched_at(event: Event) -> set[Site]:
    """Return where the modes were set that a model is in."""
    return {fact.site for s in event.snapshots for fact in s.modes if fact.site is not None}


def _is_another_now(event: Event) -> bool:
    """Tell whether another method of the model is called right before its eval(): what is switched on is new."""
    statements = [node for node in walk_own(event.function) if isinstance(node, ast.stmt)]
    before = max((s for s in statements if s.lineno < event.site.row), key=lambda s: s.lineno, default=None)
    return isinstance(before, ast.Expr) and ast.unparse(before).startswith(event.text.removesuffix("eval"))


def _is_a_copy_that_stays(event: Event) -> bool:
    """Tell whether a function copies a model to compare others with: it has no train() and no optimizer for the copy.

    Nor does another function get it, which may have.
    """
    function, copy = event.function, event.text.removesuffix(".eval")
    made = values_of(function, copy)
    if not made or any(last_name(value) != "deepcopy" for value in made):
        return False
    others = [call for call in function.calls if last_name(call) != "deepcopy"]
    if any(_is_given(call, copy) or ast.unparse(call.func) == f"{copy}.train" for call in others):
        return False
    optimizers = (call for call in others if _OPTIMIZES.search(last_name(call) or ""))
    return not any(f"{copy}.parameters" in ast.unparse(given) for call in optimizers for given in arguments_of(call))


_OPTIMIZES = re.compile(r"optim|^(SGD|Adam\w*|RMSprop|LBFGS)$", re.I)


def _is_evaluated_behind(event: Event) -> bool:
    """Tell whether a call behind an eval() evaluates the model out of sight: itself, or by an object that was given it.

    `strategy = Strategy(net, optimizer)`, ..., `net.eval()`, `strategy.eval(stream)`.
    """
    model, again = event.text.removesuffix(".eval"), call_at(event.function, event.site)
    turns = loops_around(event.function, again) if again is not None else []
    for call in event.function.calls:
        evaluates = call.lineno > event.site.row and call.args and _EVALUATES.match(last_name(call) or "")
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        makers = values_of(event.function, owner.id) if isinstance(owner, ast.Name) else []
        beside = evaluates and loops_around(event.function, call) == turns
        if beside and any(_is_given(maker, model) for maker in (call, *makers)):
            return True
    return False


_EVALUATES = re.compile(r"^_?(eval(uate|uation)?|test|valid(ate|ation)?|predict)(_|$)")


def _is_given(call: ast.expr, model: str) -> bool:
    given = arguments_of(call) if isinstance(call, ast.Call) else []
    return any(ast.unparse(argument) == model for argument in given)


def _trains_in_train_mode(place: Place, events: Iterable[Event]) -> bool:
    """Tell whether training is in sight, and switches the model to training mode itself: nothing leaks into it."""
    models = {event.key.oid for event in place.events}
    training = [s for e in events if e.training and e.key.oid in models for s in e.snapshots]
    return bool(training) and all(kinds(s.modes) == {TRAIN} for s in training)


def _trains_in_eval_mode(context: FileContext) -> bool:
    """Tell whether a function of the file calls eval() to train: what follows an evaluation there wants that mode."""
    return any({"backward", "eval"} <= f.callees and "train" not in f.callees for f in context.module.functions)


def _left_in_eval(fact: ModeFact) -> bool:
    """Tell whether code calls eval(), or the like; what a loader returns so was not left so by an evaluation."""
    return fact.site is not None and not fact.how.endswith((".from_pretrained()", ".load()"))


def _leaked(
    event: Event,
    events: Iterable[Event],
    everything: Sequence[Event],
    evaluated: Evaluated,
) -> list[ModeFact]:
    """Return the eval() calls whose effect arrives at a training forward that also runs in another mode, or whose model
    was trained in that mode before."""
    ways = [other for other in events if _comes_before(other, event)]
    # one place may train and evaluate in turn, as a loader says; without autograd it does not train
    trained = (snapshot for way in ways for snapshot in way.snapshots if snapshot.grad.state != OFF)
    every = {fact for snapshot in trained for fact in _told_apart(snapshot.modes)}
    if not {fact.mode for fact in every} & {TRAIN, ENTRY, UNKNOWN} and not _was_trained_before(event, everything):
        # always in evaluation mode: frozen on purpose, or not
        if undone := every & (undone_in_each_turn(event, everything) | copied_from_evaluation(event)):
            return list(undone)
        every &= left_by_oversight(event, everything)
    classes = (snapshot.obj.cls for snapshot in event.snapshots if isinstance(snapshot.obj.cls, ClassInfo))
    models: set[int | ClassInfo] = {event.key.oid, *classes}
    return [f for f in every if f.mode == EVAL and any((model, f.site) in evaluated for model in models)]


def _was_trained_before(event: Event, everything: Iterable[Event]) -> bool:
    """Tell whether a script or notebook has trained a model above, in training mode and by the same optimizer.

    In a function a second stage may be meant for evaluation mode, or for something else that is trained through it.
    """
    return event.function.is_body and any(
        other.key.oid == event.key.oid
        and other.site < event.site
        and all(kinds(snapshot.modes) == {TRAIN} for snapshot in other.snapshots)
        and not steppers(other).isdisjoint(steppers(event))
        for other in everything
    )


def _comes_before(other: Event, event: Event) -> bool:
    """Tell whether `other` is `event`, or the same training on the same way before some conditions on it were passed.

    So the first turn of a loop differs from those behind `if args.validate:` at its end.
    """
    mine, others = event.key, other.key
    same = others._replace(path=mine.path) == mine
    return same and others.path <= mine.path


def _told_apart(modes: Modes) -> Modes:
    """Return those of `modes` that one call does not set both ways: the flag of `train(flag)` is right."""
    switched = {fact.site for fact in modes if fact.mode == TRAIN}
    return frozenset(fact for fact in modes if fact.mode != EVAL or fact.site not in switched)
