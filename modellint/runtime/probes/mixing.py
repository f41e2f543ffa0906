"""Where samples mix: the first operations whose results depend on two samples, and whether they are to blame."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

from modellint.runtime.probes.batch import Batch, NoBatch
from modellint.runtime.probes.bench import Bench, OutOfTime
from modellint.runtime.probes.compare import Difference, changed, difference, tensor_difference, tolerance_of
from modellint.runtime.probes.double import is_rounding
from modellint.runtime.probes.drift import Group, by_layer, group
from modellint.runtime.probes.neighbours import Leak, samples_of
from modellint.runtime.probes.result import FAILED, PASSED, Culprit, LayerError, ProbeResult
from modellint.runtime.probes.samples import Axis, own
from modellint.runtime.probes.tape import Entry, Tape, Values

_SIZE = 5
_ROUNDS = 6
_SUSPECTS = 8
_SHRINKS = 1e-3
"""What is left of rounding in double precision, at most: it has 29 bits more than single precision."""
_REORDERING = {"sort", "argsort", "msort", "topk", "kthvalue", "_unique2", "unique_dim", "unique_consecutive"}
"""Operations after which no row is where it was."""


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
        "kept": "the first" if leak.keep == 0 else "the last",
        "output": leak.found.where,
    }
    culprits, same_shapes, layers = _culprits(bench, leak)
    if leak.found.relative <= limit.limit and not same_shapes:
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
        culprits=tuple(culprits),
        layers=tuple(layers),
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


class _Masks:
    """Three runs of one batch: as it is, the kept sample changed, and another one changed."""

    def __init__(self, bench: Bench, leak: Leak) -> None:
        self.bench = bench
        self.leak = leak
        self.batch = leak.samples.batch
        self.keep = leak.keep % self.batch.size
        rest = [index for index in range(self.batch.size) if index != self.keep]
        self.own_changed = self.batch.others_changed(rest, leak.style)
        self.others_changed = self.batch.others_changed([self.keep], leak.style)
        self.axes: dict[int, tuple[Axis, tuple[int, ...]]] = {}
        """The axis that counts the samples in the result of an operation, and that result's shape."""
        self.reference = bench.tape()
        self.run(self.batch, self.reference)

    def run(self, batch: Batch, tape: Tape) -> Any:
        return self.bench.run(batch.args, batch.kwargs, tape=tape)

    def tape(self, groups: Iterable[Group], kept: bool) -> Tape:
        """Return a tape on which the operations of these groups keep the samples apart.

        `kept`: the run changes the kept sample, whose rows are then the ones that may differ.
        """
        mended = set(groups)

        def mend(entry: Entry, reference: Values, own: list[torch.Tensor]) -> Values | None:
            if group(entry) not in mended:
                return None
            return [self._apart(entry, before, after, kept) for before, after in zip(reference, own, strict=False)]

        return self.bench.tape(self.reference, mend=mend, keep=True)

    def _apart(self, entry: Entry, before: torch.Tensor | None, after: torch.Tensor, kept: bool) -> torch.Tensor | None:
        if before is None or before.shape != after.shape:
            return before
        axis = self._axis_of(entry, before)
        if axis is None:
            return before
        size = self.batch.size
        result = (before if kept else after).clone()
        own(result, axis, self.keep, size).copy_(own(after if kept else before, axis, self.keep, size))
        return result

    def _axis_of(self, entry: Entry, value: torch.Tensor) -> Axis | None:
        """Return the axis that counted the samples before this operation, where its result still has it."""
        if entry.name.split(".")[1] in _REORDERING:
            return None
        for axis, shape in [self.axes[parent] for parent in entry.parents if parent in self.axes]:
            if value.dim() == len(shape) and value.shape[axis.axis] == shape[axis.axis]:
                return axis
        if not entry.parents and value.dim() and value.shape[0] == self.batch.size:
            return Axis(self.batch.axis)
        return None

    def still_leaks(self, groups: Iterable[Group]) -> bool:
        """Tell whether the kept sample still changes with the others when these groups are healed."""
        try:
            outputs = self.run(self.others_changed, self.tape(groups, kept=False))
        except OutOfTime:
            raise
        except Exception:  # mended values need not fit together: a permutation whose rows come from two is none
            return True
        samples = self.leak.samples
        return not difference(samples.of(samples.outputs, self.keep), samples.of(outputs, self.keep)).exact


def _culprits(bench: Bench, leak: Leak) -> tuple[list[Culprit], bool, list[LayerError]]:
    try:
        return _search(bench, leak)
    except OutOfTime:
        return [], True, []


def _search(bench: Bench, leak: Leak) -> tuple[list[Culprit], bool, list[LayerError]]:
    masks = _Masks(bench, leak)
    found: dict[Group, int] = {}
    same_shapes = True
    way: list[Entry] = []
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
        fresh = _mixers(masks, ours, theirs)
        if turn == 0:
            same_shapes = _same_shapes(masks.reference, theirs)
            way = _way(masks, theirs)
        fresh = {key: index for key, index in fresh.items() if key not in found}
        if not fresh:
            break
        found |= fresh
        if not masks.still_leaks(found):
            break
    guilty = _guilty(masks, found)
    entries = masks.reference.entries
    culprits = [
        Culprit(entries[found[key]].name, entries[found[key]].module, entries[found[key]].site, why="mixes samples")
        for key in guilty
    ]
    layers = by_layer(bench, way, 0.0, guilty)
    return sorted(culprits, key=lambda culprit: found[culprit.op, culprit.site]), same_shapes, layers


def _way(masks: _Masks, theirs: Tape) -> list[Entry]:
    """Return the operations as far as both runs take the same way, with the error of the kept sample at each."""
    found: list[Entry] = []
    for before, entry in zip(masks.reference.entries, theirs.entries[: theirs.diverged], strict=False):
        pairs = zip(before.values, entry.values, strict=False)
        errors = [_error(masks, value, other) for value, other in pairs if value is not None and other is not None]
        entry.inherited = max((found[parent].own for parent in entry.parents), default=0.0)
        entry.own = max(errors, default=entry.inherited)
        entry.values = []
        found.append(entry)
    return found


def _error(masks: _Masks, value: torch.Tensor, other: torch.Tensor) -> float:
    """Return the relative error of the kept sample's part or, where no axis counts samples, of everything."""
    if value.shape != other.shape:
        return math.inf
    size = masks.batch.size
    axes = list(_candidates(value, size))
    first = [axis for axis in axes if axis == Axis(0)]
    parts = [(own(value, axis, masks.keep, size), own(other, axis, masks.keep, size)) for axis in first or axes]
    return min(tensor_difference(*part).relative for part in parts or [(value, other)])


def _guilty(masks: _Masks, found: Mapping[Group, int]) -> list[Group]:
    """Return the groups whose mixing reaches the answer; all, where there is but one or too many to try.

    A group is tried with all others mended but those that build on it, which would hide it. What builds on a matrix
    of all pairs of samples is the consequence of that matrix.
    """
    groups = list(found)
    if len(groups) < 2 or len(groups) > _SUSPECTS:
        return groups
    entries = masks.reference.entries
    behind = {key: _behind(entries, index) for key, index in found.items()}
    guilty = [
        key
        for key in groups
        if masks.still_leaks([other for other in groups if other != key and found[other] not in behind[key]])
    ]
    pairs = [
        key
        for key in guilty
        if any(v is not None and list(v.shape).count(masks.batch.size) > 1 for v in entries[found[key]].values)
    ]
    kept = [key for key in guilty if not any(found[key] in behind[pair] for pair in pairs if pair != key)]
    return kept or groups[:1]


def _behind(entries: Sequence[Entry], start: int) -> set[int]:
    """Return the operations that read what `start` computed, directly or not."""
    reached = {start}
    for index in range(start + 1, len(entries)):
        if reached.intersection(entries[index].parents):
            reached.add(index)
    return reached - {start}


def _same_shapes(reference: Tape, other: Tape) -> bool:
    first = [(entry.name, *(value.shape for value in entry.values if value is not None)) for entry in reference.entries]
    second = [(entry.name, *(value.shape for value in entry.values if value is not None)) for entry in other.entries]
    return first == second


def _mixers(masks: _Masks, ours: Tape, theirs: Tape) -> dict[Group, int]:
    """Return where the influence of two samples meets, and where one is put into another's place."""
    entries = masks.reference.entries
    end = min(
        len(entries),
        len(ours.entries),
        len(theirs.entries),
        ours.diverged or len(entries),
        theirs.diverged or len(entries),
    )
    mixed: set[int] = set()
    astray: set[int] = set()
    clean: set[int] = set()
    found: dict[Group, int] = {}
    size, keep = masks.batch.size, masks.keep
    for index in range(end):
        entry = entries[index]
        overlap, placed = False, []
        for reference, left, right in zip(
            entry.values, ours.entries[index].values, theirs.entries[index].values, strict=False
        ):
            if reference is None or left is None or right is None:
                continue
            if not reference.shape == left.shape == right.shape:
                overlap = True
                continue
            by_others = changed(reference, right)
            overlap = overlap or bool((changed(reference, left) & by_others).any())
            if bool(by_others.any()) and (axes := list(_candidates(by_others, size))):
                kept = next((axis for axis in axes if not bool(own(by_others, axis, keep, size).any())), None)
                placed.append(kept is not None)
                if kept is not None:
                    masks.axes.setdefault(index, (kept, tuple(reference.shape)))
        parents = set(entry.parents)
        if overlap:
            mixed.add(index)
            if not parents & mixed and not parents & astray:
                found.setdefault(group(entry), index)
        if False in placed and not parents & astray:
            astray.add(index)
            if (parents & clean or entry.state) and not parents & mixed and not overlap:
                found.setdefault(group(entry), index)
        elif parents & astray and True not in placed:
            astray.add(index)
        if True in placed:
            clean.add(index)
    return found


def _candidates(value: torch.Tensor, size: int) -> Iterator[Axis]:
    """Yield the axes that could count the samples."""
    for axis, length in enumerate(value.shape):
        if length and length % size == 0:
            yield Axis(axis, length // size)
            if length != size:
                yield Axis(axis, length // size, strided=True)
