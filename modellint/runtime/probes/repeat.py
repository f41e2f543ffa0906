"""ML701: the same input again. Neither seeds nor buffers are put back in between: that is the question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from modellint.runtime.capture.operands import storage
from modellint.runtime.capture.random_sources import RandomState, sources
from modellint.runtime.probes.batch import NoBatch, find_batch
from modellint.runtime.probes.bench import Bench, OutOfTime
from modellint.runtime.probes.compare import Difference, difference, tolerance_of
from modellint.runtime.probes.drift import Parting, failed, group, part
from modellint.runtime.probes.result import PASSED, SECOND_CALL, VACUOUS, Culprit, ProbeResult
from modellint.runtime.probes.tape import Tape
from modellint.runtime.probes.tree import leaves, rebuilt

_NOISE = 10.0
"""How many times what two equal calls differ by another input must change the answer: atomic additions on a GPU differ
from call to call, and what they differ by differs."""
_HANDED_ON = ("cache", "past", "mems", "state", "hidden")
"""Words in the names of arguments that a forward is meant to change: the caller hands them from call to call."""

_FIRST_DIFFERS = "the first call differs from all others"

Inputs = tuple[Any, Any]
"""Positional and keyword arguments of a call."""


@dataclass(frozen=True, slots=True)
class _Again:
    """How the second call came to differ: `between` is another input that was run in the place of the first call.

    `written`: paths of the inputs that the first call wrote to, which the second was given as they then were.
    """

    found: Difference
    cause: str = ""
    between: Inputs | None = None
    written: frozenset[str] = frozenset()


def repeat(bench: Bench) -> ProbeResult:
    """Run the probe."""
    with bench.restored():
        again = _call_again(bench)
    first = bench.kept["reference"]
    if again.found.relative <= tolerance_of(first).limit and not again.written:
        again = _after_another(bench, first, again)
    found = again.found
    if not any(isinstance(leaf, (torch.Tensor, int, float)) for _, leaf in leaves(first)):
        return ProbeResult("repeat", VACUOUS, "the forward returns nothing that could be compared")
    limit = tolerance_of(first)
    if found.exact:
        return ProbeResult("repeat", PASSED, metric=0.0, tolerance=0.0, tolerance_from="exact")
    parting = _part(bench, again)
    details = {"output": found.where}
    if again.written or again.between is not None:
        details[SECOND_CALL] = "same tensors" if again.written else "after another input"
    result = failed("repeat", found, limit, again.cause, parting, details)
    if found.relative <= limit.limit and not any(culprit.stale for culprit in parting.culprits):
        what = "not bit for bit, within tolerance"
        return replace(result, verdict=PASSED, reason=what, cause="reduction order", culprits=(), layers=(), details={})
    return result


def _call_again(bench: Bench) -> _Again:
    """Call with the same values, then with the same tensors if they were written to."""
    given = bench.subject.fresh()
    tensors = dict(_tensors((given.args, given.kwargs)))
    first = bench.kept["reference"] = bench.step(given.args, given.kwargs, as_they_are=True)
    second = bench.step()
    found = difference(first, second)
    if found.relative > tolerance_of(first).limit:
        warm = difference(second, bench.step()).exact
        return _Again(found, _FIRST_DIFFERS if warm else "the call changes what the next one does")
    if written := frozenset(_written(bench, tensors)):
        after = difference(first, bench.step(*_as_left(bench, tensors, written), as_they_are=True))
        if not after.exact:
            return _Again(after, "the call writes to its input, which the next call is given", None, written)
    return _Again(found)


def _after_another(bench: Bench, first: Any, again: _Again) -> _Again:
    """Call from the same state after another input: what the first input leaves for good shows only then."""
    try:
        # All samples are others: none is kept.
        batch = find_batch(bench.subject).others_changed([], "near")
        other = batch.args, batch.kwargs
        with bench.restored():
            bench.step(*other)
            later = difference(first, bench.step())
    except (NoBatch, OutOfTime):
        return again
    except Exception:  # values that the model does not take prove nothing
        return again
    if later.relative <= _NOISE * again.found.relative:
        return again
    return _Again(later, "what another input leaves behind changes the answer", other)


def _tensors(inputs: Inputs) -> Iterator[tuple[str, torch.Tensor]]:
    return ((path, leaf) for path, leaf in leaves(inputs) if isinstance(leaf, torch.Tensor))


def _written(bench: Bench, tensors: dict[str, torch.Tensor]) -> Iterator[str]:
    """Yield the paths of the inputs that are no longer what they were, but for those that are handed on."""
    for path, before in _tensors((bench.subject.args, bench.subject.kwargs)):
        handed_on = any(word in path.lower() for word in _HANDED_ON)
        if not handed_on and path in tensors and not difference(before, tensors[path]).exact:
            yield path


def _as_left(bench: Bench, tensors: dict[str, torch.Tensor], written: frozenset[str]) -> Inputs:
    """Return the inputs anew, but for the tensors that a call has written to."""

    def change(path: str, tensor: torch.Tensor) -> torch.Tensor:
        return tensors[path] if path in written else tensor.clone()

    inputs: Inputs = rebuilt((bench.subject.args, bench.subject.kwargs), change)
    return inputs


def _part(bench: Bench, again: _Again) -> Parting:
    if again.written:
        return Parting(_writers(bench, again.written))

    warmed = False
    parting = part(bench, partial(_pair, bench, again.between, warmed=warmed), 0.0)
    if again.cause != _FIRST_DIFFERS and (branch := parting.branch) is not None:
        # What goes on to change shows behind the first call, too, without what that one alone has to make.
        later = part(bench, partial(_pair, bench, again.between, warmed=True), 0.0)
        if later.culprits and later.branch is None and not _is_around(later.culprits[0].module, branch.module):
            warmed, parting = True, later
    culprits = tuple(_changing(bench, parting.culprits))
    if again.between is None and any(culprit.stale for culprit in culprits) and watched(bench)[1]:
        culprits = tuple(_not_drawn(bench, culprits, warmed))
    return Parting(culprits, parting.layers)


def _is_around(module: str | None, inner: str | None) -> bool:
    """Tell whether a module is another one, or holds it: what is made there it may well keep itself."""
    return not module or f"{inner}.".startswith(f"{module}.")


def _pair(
    bench: Bench,
    between: Inputs | None,
    reference: Tape,
    other: Callable[[], Tape],
    *,
    warmed: bool,
    reseeded: bool = False,
) -> bool:
    with bench.restored():
        if warmed:
            bench.step()
        state = RandomState(sources(bench.model))
        first = bench.step(tape=reference)
        if reseeded:
            state.restore()
        if between is None:
            return not difference(first, bench.step(tape=other())).exact
    with bench.restored():
        bench.step(*between)
        return not difference(first, bench.step(tape=other())).exact


def watched(bench: Bench, args: Any = None, kwargs: Any = None) -> tuple[Any, bool]:
    """Run a forward; return its outputs, and whether it moves a random state."""
    with bench.restored():
        found = sources(bench.model)
        before = [source.fingerprint() for source in found]
        outputs = bench.step(args, kwargs)
        return outputs, before != [source.fingerprint() for source in found]


def _not_drawn(bench: Bench, culprits: tuple[Culprit, ...], warmed: bool) -> Iterator[Culprit]:
    """Yield the culprits; what no longer differs once the random states are put back was drawn, not remembered."""
    remembered = part(bench, partial(_pair, bench, None, warmed=warmed, reseeded=True), 0.0).culprits
    kept = {(culprit.op, culprit.site) for culprit in _changing(bench, remembered)}
    for culprit in culprits:
        drawn = culprit.stale and (culprit.op, culprit.site) not in kept
        yield replace(culprit, stale=False, why="reads what was drawn") if drawn else culprit


def _changing(bench: Bench, culprits: Sequence[Culprit]) -> Iterator[Culprit]:
    """Yield the culprits; for one that reads changed state, the operation that changes it, where that is one."""
    tape = bench.tape()
    bench.run(tape=tape)
    for culprit in culprits:
        memory = {
            place for entry in tape.entries if group(entry) == (culprit.op, culprit.site) for place in entry.reads
        }
        writer = next((entry for entry in tape.entries if culprit.stale and memory.intersection(entry.writes)), None)
        if writer is None:
            yield culprit
        else:
            yield replace(
                culprit, op=writer.name, module=writer.module, site=writer.site, why="changes what is read later"
            )


def _writers(bench: Bench, written: frozenset[str]) -> tuple[Culprit, ...]:
    """Return the first operation that writes to one of these inputs; none where that happens outside torch."""
    given = bench.subject.fresh()
    memory = {storage(tensor) for path, tensor in _tensors((given.args, given.kwargs)) if path in written}
    tape = bench.tape()
    bench.run(given.args, given.kwargs, tape=tape, as_they_are=True)
    entry = next((entry for entry in tape.entries if memory.intersection(entry.writes)), None)
    return () if entry is None else (Culprit(entry.name, entry.module, entry.site, why="writes to the input"),)
