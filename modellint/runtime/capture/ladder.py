"""Choose the producer: record one forward, else follow symbolically, else walk; never refuse a model."""

from __future__ import annotations

import errno
import re
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from modellint.runtime.capture.deadline import at_most
from modellint.runtime.capture.draws import DrawFinder
from modellint.runtime.capture.exported import export
from modellint.runtime.capture.extras import graph_on, other_mode
from modellint.runtime.capture.random_sources import RandomState, Source, sources
from modellint.runtime.capture.recorder import Recorder
from modellint.runtime.capture.sites import SiteTable
from modellint.runtime.capture.state import Snapshot, preserved
from modellint.runtime.capture.subject import Subject
from modellint.runtime.capture.symbolic import Unfollowed, follow
from modellint.runtime.capture.walk import mode_ops, walk
from modellint.runtime.trace import Failure, HiddenDraw, Level, ModeChange, ModuleFact, Op

_GUESS_SECONDS = 2.0
_LEAST_SECONDS = 10.0
_TRAINING_BATCH = "Expected more than 1 value per channel when training"


@dataclass(slots=True)
class Capture:
    """What the ladder brings home; the worker puts it into a `Trace`."""

    levels: list[Level] = field(default_factory=list)
    modules: list[ModuleFact] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    hidden_draws: list[HiddenDraw] = field(default_factory=list)
    mode_changes: list[ModeChange] = field(default_factory=list)
    failure: Failure | None = None
    without_data: bool = False
    """The forward failed for want of a kernel: a producer that computes nothing may still answer.

    Not for want of memory: what allocates without end would now loop without end.
    """
    graph_bytes: int | None = None
    graph_difference: float | None = None
    mode: str | None = None
    """The gradient mode under which the forward was recorded."""


@contextmanager
def _inference() -> Iterator[None]:
    with torch.inference_mode():
        yield


@contextmanager
def _no_grad() -> Iterator[None]:
    with torch.no_grad():
        yield


@contextmanager
def _gradients() -> Iterator[None]:
    with torch.enable_grad():
        yield


MODES: Mapping[str, Callable[[], Any]] = {
    "inference_mode": _inference,
    "no_grad": _no_grad,
    "gradients on": _gradients,
}
"""Gradient modes, strictest first: the forward is run under the first that it survives."""


def capture(
    subject: Subject | None,
    model: nn.Module,
    sites: SiteTable,
    built: Mapping[int, int | None],
    *,
    method: str,
    given: bool,
    why_not: str,
    second_forward: float = 0.0,
) -> Capture:
    """Climb the ladder. `subject` is None where there is no input; `given`: the user named the inputs.

    A forward that took fewer seconds than `second_forward` is recorded in the other mode as well.
    """
    found = Capture()
    facts = walk(model, built)
    recorded: Recorder | None = None
    if subject is None:
        found.levels.append(Level("record", False, why_not))
    else:
        recorded = _record(subject, found, given=given, second_forward=second_forward)
    if recorded is not None:
        found.ops = [replace(op, grad=0) for op in recorded.ops] if recorded.uses_gradients else recorded.ops
        facts = merge(facts, recorded.calls)
    if found.levels[-1].answered:
        if subject is not None and subject.leaves_out():
            found.levels.append(_follow(model, sites, built, found, facts, method, extra=True))
    elif not (subject is not None and found.without_data and _export(subject, found)):
        found.levels.append(_follow(model, sites, built, found, facts, method, extra=False))
    if not any(level.answered for level in found.levels):
        found.ops += mode_ops(model, built)
    found.levels.append(Level("walk", True))
    found.modules = list(facts.values())
    return found


def merge(facts: dict[str, ModuleFact], calls: Mapping[str, ModuleFact]) -> dict[str, ModuleFact]:
    """Return the facts of a walk with what a forward added to them."""
    merged = dict(facts)
    for path, call in calls.items():
        before = merged.get(path)
        merged[path] = call if before is None else replace(before, calls=call.calls, site=call.site)
    return merged


def _record(subject: Subject, found: Capture, *, given: bool, second_forward: float) -> Recorder | None:
    """Record one forward under the strictest gradient mode that it survives."""
    failures: list[BaseException] = []
    for name, mode in MODES.items():
        with preserved(subject.model) as snapshot:
            run = subject.fresh()
            recorder = run.recorder(snapshot.keep)
            streams = sources(subject.model)
            before = RandomState(streams)
            started = time.perf_counter()
            try:
                with mode(), recorder.recording((run.args, run.kwargs)):
                    recorder.finish(run.call())
            except Exception as error:
                failures.append(error)
                if is_memory(error) or _is_training_batch(error):
                    break
                continue
            seconds = time.perf_counter() - started
            moved = before.moved()
            ends = {source.name: source.fingerprint() for source in streams if source.name in moved}
            limit = _LEAST_SECONDS + 5 * seconds
            _judge_draws(subject, recorder, mode, streams, ends, found, snapshot, limit)
        # A backward pass that found no graph under a stricter mode: the forward wants what it records.
        if any("does not require grad" in str(failure) for failure in failures):
            recorder.uses_gradients = True
        found.levels.append(Level("record", True, "" if name == "inference_mode" else f"under {name}"))
        found.mode = name
        if seconds < second_forward:
            found.mode_changes = other_mode(subject, recorder, mode)
        if not recorder.uses_gradients and any(op.grad for op in recorder.ops):
            found.graph_bytes, found.graph_difference = graph_on(subject) or (None, None)
        return recorder
    first = failures[0]
    if _is_training_batch(first):
        found.levels.append(Level("record", False, f"the forward stopped: {_TRAINING_BATCH}"))
        return recorder
    message = shortened(first)
    found.without_data = isinstance(first, NotImplementedError) or "not implemented" in message
    found.levels.append(Level("record", False, f"the forward raised {message}"))
    if given:
        frame, project = subject.sites.traceback(first)
        kind = "memory" if is_memory(first) else "network" if is_network(first) else "raised"
        found.failure = Failure(kind, f"the forward raised {message}", frame, project)
    return None


def _is_training_batch(error: BaseException) -> bool:
    return isinstance(error, ValueError) and str(error).startswith(_TRAINING_BATCH)


def _judge_draws(
    subject: Subject,
    recorder: Recorder,
    mode: Callable[[], Any],
    streams: tuple[Source, ...],
    ends: Mapping[str, Hashable],
    found: Capture,
    snapshot: Snapshot,
    limit: float,
) -> None:
    """Run the forward again where something was drawn: which draws come again, and which differ?

    It runs from other seeds, and from the state that the first one left: what only a first forward draws (for a
    table that it then keeps) is no draw of the next.
    """
    live_draws = [(index, op) for index, op in enumerate(recorder.ops) if op.within is None and op.live]
    seen = {source.name for source in streams if source.is_torch} if live_draws else set()
    hidden = {source.name for source in streams if source.name in ends} - seen
    if not live_draws and not hidden:
        return
    for source in streams:
        source.move()
    run = subject.fresh()
    again = run.recorder(snapshot.keep)
    finder = DrawFinder(subject.sites, [source for source in streams if source.name in hidden])
    try:
        with mode(), again.recording((run.args, run.kwargs)), finder.watching(), at_most(limit):
            again.finish(run.call())
    except Exception:
        found.hidden_draws = [HiddenDraw(source, None) for source in sorted(hidden)]
        return
    same = {source.name for source in streams if ends.get(source.name) == source.fingerprint()}
    later: dict[tuple[str, int | None], list[int]] = {}
    for index, op in enumerate(again.ops):
        if op.draws:
            later.setdefault((op.name, op.site), []).append(again.state_of(index))
    for index, op in live_draws:
        states = later.get((op.name, op.site))
        recorder.ops[index] = replace(
            op,
            repeats=states is not None,
            reseeded=states is not None and recorder.state_of(index) in states,
            reaches=recorder.random_reaches or again.random_reaches,
        )
    # From another start to the same end: the model seeds that source itself.
    found.hidden_draws = [draw for draw in finder.draws() if draw.source not in same]


def _export(subject: Subject, found: Capture) -> bool:
    """Try torch.export, where the call is the forward's."""
    if subject.entry is not subject.model:
        return False
    try:
        with preserved(subject.model):
            found.ops = export(subject.model, subject.args, subject.kwargs, subject.sites)
    except Exception as error:
        found.levels.append(Level("export", False, shortened(error)))
        return False
    found.levels.append(Level("export", True))
    return True


def _follow(
    model: nn.Module,
    sites: SiteTable,
    built: Mapping[int, int | None],
    found: Capture,
    facts: dict[str, ModuleFact],
    method: str,
    *,
    extra: bool,
) -> Level:
    try:
        with preserved(model) as snapshot:
            ops, calls = follow(model, method, sites, built, snapshot.keep)
    except Unfollowed as error:
        return Level("fx", False, str(error))
    for path, site in calls.items():
        if path in facts and facts[path].site is None:
            facts[path] = replace(facts[path], site=site)
    if not extra:
        found.ops += ops
        return Level("fx", True)
    seen = {(op.module, op.base) for op in found.ops}
    found.ops += [op for op in ops if (op.module, op.base) not in seen]
    return Level("fx", True)


def accepts(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Tell whether one forward takes these arguments; the model is left as it was."""
    try:
        with preserved(model, copies=True), torch.no_grad(), at_most(_GUESS_SECONDS):
            model(*args, **kwargs)
    except Exception:
        return False
    return True


_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
"""Sequences that tell a terminal how to show what follows."""


def shortened(error: BaseException) -> str:
    """Return `Type: message`, on one line, without the long tails and the colours that torch adds."""
    lines = [line.strip() for line in _COLOURS.sub("", str(error)).strip().splitlines() if line.strip()]
    text = lines[0] if lines else ""
    if text.startswith("Error(s) in loading state_dict") and len(lines) > 1:
        text += f" {lines[1]}"
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__


def is_memory(error: BaseException) -> bool:
    """Tell whether an error means that memory ran out."""
    text = str(error)
    return isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)) or "can't allocate memory" in text


_OFFLINE = {"ConnectionError", "URLError", "gaierror", "LocalEntryNotFoundError", "OfflineModeIsEnabled"}


def is_network(raised: BaseException) -> bool:
    """Tell whether an error, or what caused it, means that a host could not be reached."""
    error: BaseException | None = raised
    while error is not None:
        names = {cls.__name__ for cls in type(error).__mro__}
        unreachable = isinstance(error, OSError) and error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH)
        if names & _OFFLINE or unreachable:
            return True
        error = error.__cause__ or error.__context__
    return False
