"""Training goes on after an evaluation that left the model in evaluation mode."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.context import FileContext, Finding
from modellint.static.dependence import NO, UNKNOWN
from modellint.static.evidence import functions_around
from modellint.static.flow.events import EVAL_AGAIN, FORWARD, CallSite, Event
from modellint.static.flow.values import ENTRY, EVAL, TRAIN, ModeFact, Modes, kinds
from modellint.static.guards import conditions, walk_own
from modellint.static.merge import merged
from modellint.static.project import ClassInfo
from modellint.static.sites import Place, from_other_files, places


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report training forwards that an evaluation's eval() reaches, of models that also train in training mode."""
    evaluated = {
        (event.key.oid, fact)
        for event in [*context.flow.events, *from_other_files(context)]
        if event.key.kind == FORWARD and not event.training
        for snapshot in event.snapshots
        for fact in snapshot.modes
        if _left_in_eval(fact)
    }
    found = []
    for place in places(context, FORWARD):
        for event in place.events:
            facts = _leaked(event, evaluated)
            if not event.training or not facts or not _steps(event):
                continue
            facts = [
                fact
                for fact in facts
                if not (_put_back_by_a_hook(fact, context) or _put_back(fact, context) or _for_testing(fact, context))
            ]
            facts = [fact for fact in facts if not _in_the_last_turn(event, fact, context)]
            if _readied_by_a_method(event, context):
                continue
            if not facts or all(snapshot.obj.depends == NO for snapshot in event.snapshots):
                continue
            pure = any(kinds(s.modes) == {EVAL} for s in event.snapshots)
            fact = min(facts, key=lambda f: f.site or event.site)
            assert fact.site is not None
            finding = Finding(
                place.site,
                {"model": event.text, "line": fact.site.row},
                _confidence(event, pure, context),
                related=(
                    (fact.site, "put into evaluation mode here, and never back"),
                    *(
                        (step.site, f"by {step.callee.qualname}, called here")
                        for step in _steps_to(event, fact, context)
                    ),
                ),
            )
            found.append(((event.function, fact), finding))
    yield from merged(found)
    yield from _closed_with_eval(context)


def _steps(event: Event) -> bool:
    """Tell whether the file around a training forward, or a way to it, takes steps: a backward alone is measured."""
    modules = {function.module for function in functions_around(event)}
    scopes = [scope for module in modules for scope in (module.body, *module.functions)]
    if not event.root.is_body or event.key.chain:
        return True
    return any(_STEPS.search(name) for scope in scopes for name in scope.callees)


def _confidence(event: Event, pure: bool, context: FileContext) -> Confidence:
    """Return how sure it is that the mode matters: nothing may be known of what the model is made of."""
    classes = [snapshot.obj.cls for snapshot in event.snapshots if snapshot.obj.depends == UNKNOWN]
    if classes and all(isinstance(cls, ClassInfo) and _is_plain(cls, context) for cls in classes):
        return Confidence.POSSIBLE
    return Confidence.CERTAIN if pure and not event.key.chain else Confidence.LIKELY


def _is_plain(cls: ClassInfo, context: FileContext) -> bool:
    """Tell whether nothing speaks for layers that depend on the mode: no model of a library in it, or wrapped by it."""
    wraps = any(context.knowledge.wrappers.get(base) for base in context.project.ancestry(cls)[1])
    return not wraps and not context.classes.dependence(cls).hints


_STEPS = re.compile(r"^step$|_step$|^step_|optimi[sz]e|update|minimi[sz]e|train|fit$")


def _put_back_by_a_hook(fact: ModeFact, context: FileContext) -> bool:
    """Tell whether, behind an eval(), the same function calls train() itself or else asks something to do it."""
    module = context.project.load(Path(fact.site.path), context.module.path, "calls") if fact.site is not None else None
    for function in module.functions if module is not None else ():
        node, row = function.node, fact.site.row if fact.site is not None else 0
        if node is None or not node.lineno <= row <= (node.end_lineno or 0):
            continue
        for branch in walk_own(function):
            if isinstance(branch, ast.If) and branch.orelse and branch.lineno > row:
                own, other = ("".join(map(ast.unparse, part)) for part in (branch.body, branch.orelse))
                if ".train()" in own and _ASKS_FOR_TRAINING.search(other):
                    return True
    return False


def _put_back(fact: ModeFact, context: FileContext) -> bool:
    """Tell whether the function with an eval() calls train() on the same object, too.

    Behind it, where a list of modes says so, or in the other branch of the same condition: what is frozen stays so.
    """
    if fact.site is None:
        return False
    module = context.project.load(Path(fact.site.path), context.module.path, "calls")
    for function in module.functions if module is not None else ():
        node = function.node
        if node is None or not node.lineno <= fact.site.row <= (node.end_lineno or 0):
            continue
        switched = [call for call in function.calls if call.lineno == fact.site.row and _switches(call, "eval")]
        for outer in walk_own(function):
            if not isinstance(outer, ast.If) or not switched:
                continue
            own = ast.unparse(switched[0].func).removesuffix("eval") + "train()"
            body, other = ("\n".join(map(ast.unparse, part)) for part in (outer.body, outer.orelse))
            within = outer.lineno <= fact.site.row <= (outer.end_lineno or 0)
            if own in body and (
                (within and own not in other and outer.orelse) or _stored_mode(outer.test, outer, fact)
            ):
                return True
    return False


def _readied_by_a_method(event: Event, context: FileContext) -> bool:
    """Tell whether a method of the model named for training, called there too, calls train() on parts of it."""
    classes = {snapshot.obj.cls for snapshot in event.snapshots if isinstance(snapshot.obj.cls, ClassInfo)}
    methods = [
        method
        for cls in classes
        for name in event.function.callees
        if name != "train" and name.startswith(("train", "set_train"))
        if (method := context.project.method(cls, name)) is not None
    ]
    return any("train" in method.callees for method in methods)


def _in_the_last_turn(event: Event, fact: ModeFact, context: FileContext) -> bool:
    """Tell whether an evaluation ends a loop that trains: `if i == len(loader) - 1:`, nothing trains behind it."""
    begun = [fact.site, *(step.site for step in _steps_to(event, fact, context))]
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


def _for_testing(fact: ModeFact, context: FileContext) -> bool:
    """Tell whether eval() stands where an option says that nothing trains: `else` of `if self.is_train`."""
    if fact.site is None:
        return False
    module = context.project.load(Path(fact.site.path), context.module.path, "calls")
    for function in (module.body, *module.functions) if module is not None else ():
        for call in function.calls:
            if call.lineno == fact.site.row and _switches(call, "eval"):
                return any(_says_no_training(test, holds) for test, holds in conditions(function, call))
    return False


def _says_no_training(test: ast.expr, holds: bool) -> bool:
    """Tell whether `test`, an attribute that is an option, says by its truth or its falsehood that nothing trains."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, holds = test.operand, not holds
    return isinstance(test, ast.Attribute) and _TRAINS.match(test.attr) is not None and not holds


def _stored_mode(test: ast.expr, outer: ast.If, fact: ModeFact) -> bool:
    """Tell whether a condition behind the eval() asks for a mode that was kept."""
    behind = fact.site is not None and outer.lineno > fact.site.row
    return behind and any(isinstance(n, ast.Name) and _MODE.search(n.id) is not None for n in ast.walk(test))


_MODE = re.compile(r"train|mode", re.I)


def _switches(call: ast.Call, name: str) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == name


_ASKS_FOR_TRAINING = re.compile(r"""\w\(.*["']\w*train\w*["']""")
"""A call that is told to train by the name of a hook: `self.call("on_model_train")`."""


def _steps_to(event: Event, fact: ModeFact, context: FileContext) -> list[CallSite]:
    """Return the calls that lead from the training function into the evaluation which left `fact` behind."""
    depth = len(event.key.chain)
    for other in context.flow.events:
        chain = other.key.chain
        if not other.training and len(chain) > depth and chain[:depth] == event.key.chain:
            if any(fact in snapshot.modes for snapshot in other.snapshots):
                return list(chain[depth:])
    return []


def _closed_with_eval(context: FileContext) -> Iterator[Finding]:
    """An evaluation that begins with eval() and ends with eval() where train() was meant."""
    everything = [*context.flow.events, *from_other_files(context)]
    forwards = [e for e in everything if e.key.kind == FORWARD]
    for place in places(context, EVAL_AGAIN):
        if place.outside or _trains_in_train_mode(place, forwards):
            continue
        for event in place.events:
            reached = {
                fact.site
                for other in forwards
                if other.function is event.function and other.key.chain == event.key.chain
                for snapshot in other.snapshots
                for fact in snapshot.modes
            }
            if place.site in reached:
                continue
            begun = {fact.site for snapshot in event.snapshots for fact in snapshot.modes}
            mine = [f for f in forwards if f.function is event.function and f.key.oid == event.key.oid]
            if _is_another_now(event):
                continue
            between = [f for f in mine if begun & {fact.site for s in f.snapshots for fact in s.modes}]
            body = event.function.node
            inside = body is not None and all(
                site is not None and body.lineno <= site.row <= (body.end_lineno or 0) and site < place.site
                for site in begun
            )
            if between and inside and all(f.site < place.site for f in between):
                message = f"`{event.text}()` again, behind the evaluation, leaves the model so: was train() meant?"
                yield Finding(place.site, confidence=Confidence.LIKELY, message=message)
                break


def _is_another_now(event: Event) -> bool:
    """Tell whether another method of the model is called right before its eval(): what is switched on is new."""
    for outer in ast.walk(event.function.node) if event.function.node is not None else ():
        for block in (getattr(outer, "body", None), getattr(outer, "orelse", None), getattr(outer, "finalbody", None)):
            statements = block if isinstance(block, list) else []
            for before, statement in itertools.pairwise(statements):
                if getattr(statement, "lineno", 0) == event.site.row and isinstance(before, ast.Expr):
                    called = before.value.func if isinstance(before.value, ast.Call) else None
                    owner = ast.unparse(called.value) if isinstance(called, ast.Attribute) else ""
                    return bool(owner) and event.text in (owner, f"{owner}.eval")
    return False


def _trains_in_train_mode(place: Place, forwards: list[Event]) -> bool:
    """Tell whether training is in sight, and switches the model to training mode itself: nothing leaks into it."""
    models = {event.key.oid for event in place.events}
    training = [s for e in forwards if e.training and e.key.oid in models for s in e.snapshots]
    return bool(training) and all(kinds(s.modes) == {TRAIN} for s in training)


def _left_in_eval(fact: ModeFact) -> bool:
    """Tell whether code calls eval(), or the like; what a loader returns so was not left so by an evaluation."""
    return fact.mode == EVAL and fact.site is not None and not fact.how.endswith((".from_pretrained()", ".load()"))


def _leaked(event: Event, evaluated: set[tuple[int, ModeFact]]) -> list[ModeFact]:
    """Return the eval() calls whose effect arrives at a training forward that also runs in another mode."""
    every = {fact for snapshot in event.snapshots for fact in _told_apart(snapshot.modes)}
    if not {fact.mode for fact in every} & {TRAIN, ENTRY}:
        return []  # always in evaluation mode: frozen on purpose
    return [fact for fact in every if _left_in_eval(fact) and (event.key.oid, fact) in evaluated]


def _told_apart(modes: Modes) -> Modes:
    """Return those of `modes` that one call does not set both ways: the flag of `train(flag)` is right."""
    switched = {fact.site for fact in modes if fact.mode == TRAIN}
    return frozenset(fact for fact in modes if fact.mode != EVAL or fact.site not in switched)
