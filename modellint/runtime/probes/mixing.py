"""Where samples mix: the first operations whose results depend on two samples, and whether they are to blame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from modellint.runtime.probes.batch import NoBatch
from modellint.runtime.probes.bench import Bench, OutOfTime
from modellint.runtime.probes.compare import Difference, difference, tolerance_of
from modellint.runtime.probes.double import is_rounding
from modellint.runtime.probes.drift import Group, by_layer
from modellint.runtime.probes.influence import (
    Influence,
    behind,
    errors_on_the_way,
    last_decision,
    mixers,
    same_shapes,
)
from modellint.runtime.probes.neighbours import Leak, samples_of
from modellint.runtime.probes.pairing import Entry
from modellint.runtime.probes.result import FAILED, PASSED, VACUOUS, Culprit, LayerError, ProbeResult

_SIZE = 5
_ROUNDS = 6
_SUSPECTS = 8
_SHRINKS = 1e-3
"""What is left of rounding in double precision, at most: it has 29 bits more than single precision."""


@dataclass(frozen=True, slots=True)
class _Blame:
    """What the search found: `same_shapes` tells whether all operations had the same shapes in both runs, and
    `by_constants` whether samples only meet where a tensor of the model's own joins rows, by their number or place.
    """

    culprits: tuple[Culprit, ...] = ()
    layers: tuple[LayerError, ...] = ()
    same_shapes: bool = True
    by_constants: bool = False
    drawn: bool = False
    """Whether samples only meet in the stream of random numbers: how many are drawn depends on the values of some."""


def judge_leak(bench: Bench, leak: Leak) -> ProbeResult:
    """Name the operations that mix samples, or say why the leak is none."""
    samples = leak.samples
    limit = tolerance_of(samples.outputs)
    if leak.found.relative <= limit.limit and _only_rounds(bench, leak, limit.limit):
        why = "the neighbours decide on the order of sums alone: in double precision nothing is left of it"
        return ProbeResult("neighbours", PASSED, why, "reduction order", leak.found.relative, limit.limit, limit.origin)
    leak = _enlarged(bench, leak)
    details = {
        "samples": samples.batch.size,
        "axis": samples.batch.axis,
        "neighbours": leak.style,
        "kept": {0: "the first", 1: "the second"}.get(leak.keep, "the last"),
        "output": leak.found.where,
    }
    blame = _blame(bench, leak)
    if not leak.samples.resized and blame.by_constants:
        why = "the model takes one size only, and joins the rows by a tensor of its own: they are no samples of a batch"
        return ProbeResult("neighbours", VACUOUS, why, details=details)
    if blame.drawn:
        why = "how many random numbers are drawn depends on the neighbours: nothing is proved"
        return ProbeResult("neighbours", VACUOUS, why, details=details)
    if leak.found.relative <= limit.limit and not blame.same_shapes:
        return ProbeResult(
            "neighbours",
            PASSED,
            "the neighbours decide on shapes, and with them on the order of sums",
            metric=leak.found.relative,
            tolerance=limit.limit,
            tolerance_from=limit.origin,
            details=details,
        )
    return ProbeResult(
        "neighbours",
        FAILED,
        leak.found.what,
        "real leak",
        leak.found.relative,
        0.0,
        "exact",
        culprits=blame.culprits,
        layers=blame.layers,
        details=details,
    )


def _only_rounds(bench: Bench, leak: Leak, limit: float) -> bool:
    """Tell whether a leak within the tolerance shrinks with the rounding; one that is none stays what it was."""
    samples = leak.samples
    index = leak.keep % samples.batch.size
    others = samples.batch.others_changed([index], leak.style)

    def anew(run: Callable[[Any, Any], Any]) -> Difference:
        before, after = run(samples.batch.args, samples.batch.kwargs), run(others.args, others.kwargs)
        return difference(samples.of(before, index), samples.of(after, index))

    rounding = is_rounding(bench, anew, leak.found.relative * _SHRINKS)
    # Experts in kernels that know no double precision.
    return leak.found.relative <= limit / 10 if rounding is None else rounding


def _enlarged(bench: Bench, leak: Leak) -> Leak:
    """Return the leak in a batch whose size divides few other sizes, so that its axis can be told; or as it was."""
    if leak.samples.batch.size == _SIZE or not leak.samples.resized:
        return leak
    try:
        samples = samples_of(bench, leak.samples.batch.resized(_SIZE), _SIZE)
    except NoBatch:
        return leak
    index = leak.keep % samples.batch.size
    changed_batch = samples.batch.others_changed([index], leak.style)
    outputs = bench.run(changed_batch.args, changed_batch.kwargs)
    found = difference(samples.of(samples.outputs, index), samples.of(outputs, index))
    return leak if found.exact else Leak(samples, leak.style, leak.keep, found)


def _blame(bench: Bench, leak: Leak) -> _Blame:
    try:
        return _search(bench, leak)
    except OutOfTime:
        return _Blame()


def _search(bench: Bench, leak: Leak) -> _Blame:
    masks = Influence(bench, leak)
    found: dict[Group, int] = {}
    alike = True
    way: list[Entry] = []
    decides: Entry | None = None
    for turn in range(_ROUNDS):
        ours, theirs = masks.tape(found, kept=True), masks.tape(found, kept=False)
        try:
            masks.run(masks.own_changed, ours)
            masks.run(masks.others_changed, theirs)
        except OutOfTime:
            raise
        except Exception:
            if not turn:
                raise
            break
        fresh = mixers(masks, ours, theirs)
        if turn == 0:
            alike = same_shapes(masks.reference, theirs)
            decides = last_decision(masks.reference, theirs)
            way = errors_on_the_way(masks, theirs)
        fresh = {key: index for key, index in fresh.items() if key not in found}
        if not fresh:
            break
        found |= fresh
        if not masks.still_leaks(found):
            break
    guilty = sorted(_guilty(masks, found), key=lambda key: found[key])
    entries = [masks.reference.entries[found[key]] for key in guilty]
    drawn = bool(entries) and all(entry.draws for entry in entries)
    entries = [entry for entry in entries if not entry.draws]
    culprits = [Culprit(entry.name, entry.module, entry.site, why="mixes samples") for entry in entries]
    if not culprits and decides is not None:
        culprits = [Culprit(decides.name, decides.module, decides.site, why="decides for all samples what is run")]
    by_constants = bool(entries) and all(masks.joined_by_a_constant(entry) for entry in entries)
    return _Blame(tuple(culprits), tuple(by_layer(bench, way, 0.0, guilty)), alike, by_constants, drawn)


def _guilty(masks: Influence, found: Mapping[Group, int]) -> list[Group]:
    """Return the groups whose mixing reaches the answer; all, where there is but one or too many to try.

    A group is tried with all others mended but those that build on it, which would hide it. What builds on a matrix
    of all pairs of samples is the consequence of that matrix.
    """
    groups = list(found)
    if len(groups) < 2 or len(groups) > _SUSPECTS:
        return groups
    entries = masks.reference.entries
    following = {key: behind(entries, index) for key, index in found.items()}
    guilty = [
        key
        for key in groups
        if masks.still_leaks([other for other in groups if other != key and found[other] not in following[key]])
    ]
    pairs = [
        key
        for key in guilty
        if any(v is not None and list(v.shape).count(masks.batch.size) > 1 for v in entries[found[key]].values)
    ]
    kept = [key for key in guilty if not any(found[key] in following[pair] for pair in pairs if pair != key)]
    return kept or groups[:1]
