"""What the flow engine notes down for the rules: forwards and exports, with the state they happened in."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from modellint.static.flow.state import State, every_given
from modellint.static.flow.values import (
    ENTRY,
    MODEL,
    OFF,
    UNKNOWN_MODES,
    Args,
    Grad,
    Modes,
    Obj,
    Site,
    is_cut,
    kinds,
    perhaps_live,
    results,
)
from modellint.static.project import FunctionInfo
from modellint.static.project.names import holder, last_name
from modellint.static.project.trees import walk

FORWARD, EXPORT, ACCUMULATE, EVAL_AGAIN = "forward", "export", "accumulate", "eval-again"
MODE_ENTERED, GRAPH_MADE, FITTED = "mode-entered", "graph-made", "fitted"
"""`with model.eval():`, and `autograd.grad(..., create_graph=True)`."""


class CallSite(NamedTuple):
    """One step of a call chain: where, in which function, and what is called there."""

    site: Site
    caller: FunctionInfo
    callee: FunctionInfo


class Loop(NamedTuple):
    """A loop around an event: its place, the names in what it runs over (none: a `while`), of what it calls, and of
    what each turn is given."""

    row: int
    over: frozenset[str]
    calls: frozenset[str]
    given: frozenset[str] = frozenset()


def loop_facts(loop: ast.For | ast.AsyncFor | ast.While | ast.comprehension) -> Loop:
    """Return what rules ask about a loop, without its nodes."""
    iterated = () if isinstance(loop, ast.While) else walk(loop.iter)
    over = {name for node in iterated if (name := _spoken_of(node)) is not None}
    dropped = {id(n.value) for n in walk(loop) if isinstance(n, ast.Expr)}
    calls = {last_name(n.func) for n in walk(loop) if isinstance(n, ast.Call) and not _is_no_move(n, id(n) in dropped)}
    row = loop.target.lineno if isinstance(loop, ast.comprehension) else loop.lineno
    bound = () if isinstance(loop, ast.While) else walk(loop.target)
    given = frozenset(n.id for n in bound if isinstance(n, ast.Name))
    return Loop(row, frozenset(over), frozenset(name for name in calls if name), given)


def _is_no_move(call: ast.Call, is_dropped: bool) -> bool:
    """Tell whether a call is a step of the work itself, `self.step(batch)`: an environment is given a move.

    Profilers, schedules and optimizers are given none.
    """
    func = call.func
    if not isinstance(func, ast.Attribute):
        return last_name(func) == "step"
    if func.attr == "step":
        is_given = bool(call.args or call.keywords)
        if not is_given or _COUNTS_STEPS.search(last_name(func.value) or ""):
            return True
    return is_dropped and isinstance(func.value, ast.Name) and func.value.id == "self"


_COUNTS_STEPS = re.compile(
    r"(^|_)(optim\w*|opt|\w*sched\w*|prof\w*|p?bar|progress|tracker|timer|scaler|logger)(_|$)", re.I
)


def _spoken_of(node: ast.AST) -> str | None:
    """Return the name of a variable, an attribute or, as in `loaders["val"]`, an element."""
    if isinstance(node, ast.Subscript):
        return node.slice.value if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str) else None
    return last_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else None


def input_names(call: ast.Call) -> frozenset[str]:
    """Return the variables whose values a call is given, however they are sliced, moved or converted on the way."""
    return frozenset(name for argument in call.args for name in _first_names(argument))


_FOR_TRAINING = re.compile(r"^(is_)?train(ing)?(_mode)?$")
_FOR_INFERENCE = re.compile(r"^(is_)?(eval(uat\w+)?|test(ing)?|infer(ence)?|deterministic)(_mode)?$")


def asks_for_evaluation(call: ast.Call) -> bool:
    """Tell whether an argument of a call asks for evaluation: `training=False`, `deterministic=True`."""
    for keyword in call.keywords:
        name, value = keyword.arg or "", keyword.value
        if isinstance(value, ast.Constant) and value.value in (True, False):
            if (_FOR_INFERENCE if value.value else _FOR_TRAINING).match(name):
                return True
    return False


def _first_names(node: ast.expr) -> Iterator[str]:
    while not isinstance(node, ast.Name):
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield from (name for argument in node.args[:1] for name in _first_names(argument))
            node = node.func.value
        elif isinstance(node, ast.Call) and node.args:  # `Variable(x)`
            node = node.args[0]
        else:
            return
    yield node.id


class EventKey(NamedTuple):
    """What makes two events the same: place, callers, constants of unrolled loops, conditions passed, object."""

    kind: str
    site: Site
    chain: tuple[CallSite, ...]
    unrolled: tuple[tuple[str, object], ...]
    path: frozenset[tuple[tuple[int, str], bool]]
    oid: int
    detail: str


class Snapshot(NamedTuple):
    """The state in which an event happened once. `lap` counts the passes over the loops around it."""

    modes: Modes
    grad: Grad
    obj: Obj
    lap: int


@dataclass(slots=True, eq=False)
class Event:
    """Something that happened to a model at one place, in one context.

    `function` is the function whose text holds the place, `text` how the model is written there. What became of the
    result: `training` (it reached a gradient), `feeds_training` (its numbers did, without a graph: a target),
    `uses` (what else), `result_dropped`. `model_trained`: the same model is trained somewhere in the analysis,
    `trained_before`: and that came first, `after_training`: and the same root did so, in loops that are over now,
    `trained_as_given`: by the same root, in the mode that callers, or a factory out of sight, left; `root_trains`: its
    root differentiates something under autograd as callers left it, in the same run; `beside_training`: a model is
    trained in the same turn of the same loop, `within_step`: below a call on whose result one is trained,
    `trained_from`: the way to the function that asks for the gradient.
    `leaves` are the places where inputs were made to require a gradient, `loops` the loops around it, outermost
    first, `inputs` the variables that the model is given, `kept` the attributes that the result was put into,
    `source` the forward whose result is added up. `asks_evaluation`: an argument says so. `in_haste`: branches
    around it were joined early, `in_later_lap`: a lap that finds what another one has left is the only one that
    comes here.
    """

    key: EventKey
    function: FunctionInfo
    text: str
    snapshots: list[Snapshot] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)
    training: bool = False
    leaves: set[Site] = field(default_factory=set)
    result_dropped: bool = False
    feeds_training: bool = False
    model_trained: bool = False
    trained_before: bool = False
    after_training: bool = False
    trained_as_given: bool = False
    root_trains: bool = False
    beside_training: bool = False
    within_step: bool = False
    trained_from: tuple[CallSite, ...] | None = None
    abandoned: bool = False
    in_haste: bool = False
    in_later_lap: bool = False
    source: Event | None = None
    loops: tuple[Loop, ...] = ()
    inputs: frozenset[str] = frozenset()
    kept: set[str] = field(default_factory=set)
    asks_evaluation: bool = False

    @property
    def site(self) -> Site:
        """Where it stands."""
        return self.key.site

    @property
    def wants_gradient(self) -> bool:
        """Whether an input was made to require a gradient."""
        return bool(self.leaves)

    @property
    def goes_on_with_graph(self) -> bool:
        """Whether the result went where others may yet differentiate it."""
        return not {"returned with its graph", "passed with its graph"}.isdisjoint(self.uses)

    @property
    def root(self) -> FunctionInfo:
        """The function from which the analysis came here."""
        return self.key.chain[0].caller if self.key.chain else self.function


def _step_around(event: Event) -> tuple[CallSite, ...] | None:
    """Return the way to the outermost call around a forward on whose result the model is trained, None if none is."""
    depth = None if event.trained_from is None else len(event.trained_from)
    if depth is None or len(event.key.chain) <= depth or event.key.chain[:depth] != event.trained_from:
        return None
    return event.key.chain[: depth + 1]


def _around(event: Event) -> object:
    """What two events share that happen on the same way through the same loop."""
    return event.key.chain, event.key.unrolled, event.function, event.loops[-1:]


def _is_behind(event: Event, training: Sequence[Event]) -> bool:
    """Tell whether an event comes after all loops in which its model was trained."""
    return bool(training) and all(not set(event.loops) & set(other.loops) for other in training)


def _is_as_given(event: Event) -> bool:
    """Tell whether a forward runs in the mode that the callers of the root left, or a factory out of sight, alone."""
    return all(kinds(s.modes) == {ENTRY} or s.modes == UNKNOWN_MODES for s in event.snapshots)


def _parts_of(event: Event) -> Iterator[int]:
    """Yield the objects that a model in sight keeps, which learn with it."""
    for snapshot in event.snapshots:
        if snapshot.obj.kind == MODEL:
            yield from (oid for value in snapshot.obj.attrs.values() for oid in value.refs)


def _is_trained_as_a_part(event: Event, parts: set[int]) -> bool:
    """Tell whether what an event runs learns as a part of another model, and is not frozen there."""
    return event.key.oid in parts and not any(snapshot.obj.frozen for snapshot in event.snapshots)


def _learns_beside(event: Event) -> bool:
    """Tell whether optimizers of listed tensors, `Adam([delta])`, are all that is made where a gradient is computed.

    The model itself is as good as frozen then: it is asked by a prompt that learns, or edited.
    """
    functions = {event.function, *(step.caller for step in event.key.chain)}
    given = [call.args[:1] for function in functions for call in function.calls_of(*_OPTIMIZERS)]
    return bool(given) and all(map(_is_a_list_of_names, given))


def _is_a_list_of_names(given: list[ast.expr]) -> bool:
    return all(isinstance(node, ast.List) and all(isinstance(e, ast.Name) for e in node.elts) for node in given)


_OPTIMIZERS = ("Adam", "AdamW", "SGD", "LBFGS", "RMSprop", "Adagrad")


def _is_under_autograd_as_given(event: Event) -> bool:
    """Tell whether a forward runs under autograd as the callers of the root left it."""
    return any(s.grad.state == ENTRY for s in event.snapshots)


_STAGE = re.compile(r"train|eval|test|val|phase|mode|split|stage|subset", re.I)


def _apart(event: Event, other: Event) -> bool:
    """Tell whether two events never happen in one run: a condition on the stage of the work parts them."""
    passed = dict(other.key.path)
    return any(passed.get(key, holds) is not holds and _STAGE.search(key[1]) for key, holds in event.key.path)


def _differentiate(event: Event, chain: tuple[CallSite, ...]) -> None:
    if all(snapshot.grad.state == OFF for snapshot in event.snapshots):
        event.feeds_training = True  # no gradient passes: a target, not what is trained
    else:
        event.training = True
        event.trained_from = chain


def _is_left_to_another_method(event: Event) -> bool:
    """Tell whether another method of the object computes a gradient and reads what the result was put into."""
    cls = event.root.cls
    return cls is not None and any(
        "backward" in method.callees and not event.kept.isdisjoint(_attributes(method))
        for method in cls.methods.values()
        if method is not event.root and method is not event.function
    )


def _attributes(function: FunctionInfo) -> Iterator[str]:
    """Yield the attributes whose values a function finds: not those that it gives a value before it reads them."""
    if function.node is None:
        return
    given: dict[str, int] = {}
    for name, row in _given(function.node.body):
        given.setdefault(name, row)
    for node in walk(function.node):
        if not isinstance(node, ast.Attribute):
            continue
        end = given.get(node.attr)
        if end is None or (isinstance(node.ctx, ast.Load) and node.lineno <= end):
            yield node.attr


def _given(body: list[ast.stmt]) -> Iterator[tuple[str, int]]:
    """Yield the attributes that statements assign, whatever the conditions, and the last row of each assignment."""
    for statement in body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                for node in walk(target):
                    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                        yield node.attr, statement.end_lineno or statement.lineno
        elif isinstance(statement, (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith)):
            yield from _given(statement.body)


def _is_below(event: Event, chain: tuple[CallSite, ...]) -> bool:
    return event.key.chain[: len(chain)] == chain


class Mark(NamedTuple):
    """A moment in a recording: how many events there were, and how many snapshots had been added to them."""

    events: int
    added: int


class Recorder:
    """Collects the events of one analysis; `muted` while code runs only for its effects."""

    def __init__(self) -> None:
        self.muted = 0
        self.noted = 0
        self.in_haste = False  # whether branches are joined early, as there were too many to keep apart
        self.in_later_lap = False  # whether a lap runs for what it finds alone: of what was seen it says nothing new
        self.effects = 0  # counts what was noted, what was trained on or kept, and the calls that changed a model
        self.events: list[Event] = []
        self._numbers: dict[EventKey, int] = {}
        self._added: list[int] = []  # the events that snapshots were added to, one after the other

    def note(self, key: EventKey, function: FunctionInfo, text: str, snapshot: Snapshot) -> int | None:
        """Record that `key` happened; return its number, None while muted."""
        self.noted += 1
        self.effects += 1
        if self.muted:
            return None
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.events)
            self.events.append(Event(key, function, text, in_later_lap=self.in_later_lap))
        elif self.in_later_lap and not self.events[number].in_later_lap:
            return number
        event, snapshots = self.events[number], self.events[number].snapshots
        if self.in_haste:
            self._added += [number] * len(snapshots) if event.abandoned else []
            event.abandoned, event.in_haste = False, True
        if snapshot not in snapshots:
            snapshots.append(snapshot)
            self._added.append(number)
        return number

    def mark(self) -> Mark:
        """Return how far this has come, for `abandon`."""
        return Mark(len(self.events), len(self._added))

    def abandon(self, chain: tuple[CallSite, ...], root: FunctionInfo | None = None, since: Mark | None = None) -> None:
        """Forget what was noted below `chain` (of the analysis that began at `root`): it was not seen to the end.

        With `since`, a moment at which all below it had been, in another turn of a loop say, what was known then stays.
        """
        before, added = since or Mark(0, len(self._added))
        later = Counter(self._added[added:])
        del self._added[added:]
        for number, event in enumerate(self.events):
            if not _is_below(event, chain) or (root is not None and event.root is not root):
                self._added += [number] * later[number]
            elif number < before and len(event.snapshots) > later[number]:
                del event.snapshots[len(event.snapshots) - later[number] :]
            else:
                event.abandoned = True

    def conclude(self) -> None:
        """Tell every event whether its model is trained elsewhere."""
        for event in self.events:
            if event.kept and not event.training and _is_left_to_another_method(event):
                _differentiate(event, event.key.chain)
        trained = {event.key.oid for event in self.events if event.training}
        parts = {oid for event in self.events if event.training for oid in _parts_of(event)}
        learning = (event for event in self.events if event.training and not _learns_beside(event))
        as_given = {(event.root, event.key.oid) for event in learning if _is_as_given(event)}
        training: dict[object, list[Event]] = {}
        beside: dict[object, list[Event]] = {}
        for event in self.events:
            if event.training:
                beside.setdefault(_around(event), []).append(event)
                if _is_under_autograd_as_given(event):
                    training.setdefault(event.root, []).append(event)
        steps = {step for event in self.events if (step := _step_around(event)) is not None}
        so_far: dict[int, list[Event]] = {}
        for event in self.events:
            event.model_trained = event.key.oid in trained or _is_trained_as_a_part(event, parts)
            event.trained_before = event.key.oid in so_far
            event.after_training = _is_behind(event, [e for e in so_far.get(event.key.oid, ()) if e.root is event.root])
            if event.training:
                so_far.setdefault(event.key.oid, []).append(event)
            event.trained_as_given = (event.root, event.key.oid) in as_given
            event.root_trains = any(not _apart(event, other) for other in training.get(event.root, ()))
            event.beside_training = any(not _apart(event, other) for other in beside.get(_around(event), ()))
            event.within_step = any(event.key.chain[:end] in steps for end in range(1, len(event.key.chain) + 1))

    def use(self, taint: frozenset[int], name: str) -> None:
        """Record that results of `taint` ended up as `name`."""
        for number in results(taint):
            self.events[number].uses.add(name)

    def pass_on(self, args: Args, state: State) -> None:
        """Record that code out of sight gets what `args` hold; under no_grad it can differentiate nothing of it."""
        for value in every_given(args, state):
            self.use(value.taint, "passed")
            if state.grad.state != OFF and not is_cut(value.taint):
                for number in perhaps_live(value.taint):
                    self.events[number].uses.add("passed with its graph")

    def keep(self, taint: frozenset[int], place: ast.expr) -> None:
        """Record that results of `taint` were put into `place`, an attribute or what it holds: other methods find them.

        What has left the graph is of no consequence there.
        """
        place = holder(place)  # `self.losses[-1].append(loss)`
        if isinstance(place, ast.Attribute) and not is_cut(taint):
            self.effects += bool(taint)
            for number in perhaps_live(taint):
                self.events[number].kept.add(place.attr)

    def mark_training(self, taint: frozenset[int], chain: tuple[CallSite, ...]) -> None:
        """Record that a gradient is computed from the results `taint`, in the function that `chain` leads to."""
        self.effects += 1
        differentiated = set(perhaps_live(taint))
        for number in results(taint):
            if number in differentiated:
                _differentiate(self.events[number], chain)
            else:
                self.events[number].feeds_training = True

    def drop(self, site: Site, taint: frozenset[int]) -> None:
        """Record that the results of `taint` computed at `site` are thrown away."""
        for number in results(taint):
            key = self.events[number].key
            if key.site == site or any(step.site == site for step in key.chain):
                self.events[number].result_dropped = True
