"""Three runs of one batch, and what they show: how far the influence of each sample reaches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from modellint.runtime.probes.batch import Batch
from modellint.runtime.probes.bench import Bench, OutOfTime
from modellint.runtime.probes.compare import changed, difference, tensor_difference
from modellint.runtime.probes.drift import Group, group
from modellint.runtime.probes.neighbours import Leak
from modellint.runtime.probes.pairing import Entry
from modellint.runtime.probes.samples import Axis, own
from modellint.runtime.probes.tape import Tape, Values

_REORDERING = {"sort", "argsort", "msort", "topk", "kthvalue", "_unique2", "unique_dim", "unique_consecutive"}
"""Operations after which no row is where it was."""
_BY_INDEX = ("index", "gather", "scatter", "sparse", "spmm", "embedding", "take", "segment")
"""Parts of the names of operations that take or add up rows as some tensor says."""


class Influence:
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
        self.moved: set[int] = set()
        """Operations whose results depend on some sample."""
        self.reference = bench.tape()
        self.run(self.batch, self.reference)

    def run(self, batch: Batch, tape: Tape) -> Any:
        """Return the outputs for a batch, observed by `tape`."""
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

    def joined_by_a_constant(self, entry: Entry) -> bool:
        """Tell whether an operation reads a tensor that no sample touches and that says which rows go together.

        That is a matrix with a row or a column for each, or, for operations that look rows up, any tensor.
        """
        operation = entry.name.split(".")[1]
        if "norm" in operation:
            return False
        marks = [mark[0] if mark and isinstance(mark[0], tuple) else mark for mark in entry.state]
        values = [self.reference.entries[parent].values for parent in entry.parents if parent not in self.moved]
        shapes = [*marks, *(tuple(value.shape) for found in values for value in found if value is not None)]
        if any(word in operation for word in _BY_INDEX):
            return any(shapes)
        return any(len(shape) > 1 and self.batch.size in shape for shape in shapes)

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


def mixers(masks: Influence, ours: Tape, theirs: Tape) -> dict[Group, int]:
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
    lost: dict[int, set[int]] = {}
    """Results of the others alone in which no axis counts samples any more, with the operations that took it away."""
    found: dict[Group, int] = {}
    told = False
    size, keep = masks.batch.size, masks.keep
    for index in range(end):
        entry = entries[index]
        overlap, others, alone, values, placed = False, False, True, False, []
        for reference, left, right in zip(
            entry.values, ours.entries[index].values, theirs.entries[index].values, strict=False
        ):
            if reference is None or left is None or right is None:
                continue
            if not reference.shape == left.shape == right.shape:
                overlap = True
                masks.moved.add(index)
                continue
            values = True
            by_others, by_own = changed(reference, right), changed(reference, left)
            overlap = overlap or bool((by_own & by_others).any())
            others, alone = others or bool(by_others.any()), alone and not bool(by_own.any())
            if bool((by_own | by_others).any()):
                masks.moved.add(index)
            if bool(by_others.any()) and (axes := list(_candidates(by_others, size))):
                kept = next((axis for axis in axes if not bool(own(by_others, axis, keep, size).any())), None)
                placed.append(kept is not None)
                if kept is not None:
                    masks.axes.setdefault(index, (kept, tuple(reference.shape)))
        parents = set(entry.parents)
        # What Python reads from a mixture decides on the shapes that follow.
        told = told or ("_local_scalar_dense" in entry.name and bool(parents & (mixed | lost.keys())))
        without = set().union(*(lost.get(parent, set()) for parent in parents))
        if overlap:
            mixed.add(index)
            if not parents & mixed and not parents & astray and (values or not told):
                for origin in sorted(without) or [index]:
                    found.setdefault(group(entries[origin]), origin)
        elif others and alone and True not in placed and (without or not placed):
            lost[index] = without or {index}
            continue
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


def last_decision(reference: Tape, theirs: Tape) -> Entry | None:
    """Return the last operation before the two runs part whose result was changed and read by Python."""
    for index in reversed(range(theirs.diverged or 0)):
        for parent in (
            reference.entries[index].parents if "_local_scalar_dense" in reference.entries[index].name else ()
        ):
            pairs = zip(reference.entries[parent].values, theirs.entries[parent].values, strict=False)
            if any(a is not None and b is not None and bool(changed(a, b).any()) for a, b in pairs):
                return reference.entries[parent]
    return theirs.branch()


def errors_on_the_way(masks: Influence, theirs: Tape) -> list[Entry]:
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


def _error(masks: Influence, value: torch.Tensor, other: torch.Tensor) -> float:
    """Return the relative error of the kept sample's part or, where no axis counts samples, of everything."""
    if value.shape != other.shape:
        return math.inf
    size = masks.batch.size
    axes = list(_candidates(value, size))
    first = [axis for axis in axes if axis == Axis(0)]
    parts = [(own(value, axis, masks.keep, size), own(other, axis, masks.keep, size)) for axis in first or axes]
    return min(tensor_difference(*part).relative for part in parts or [(value, other)])


def behind(entries: Sequence[Entry], start: int) -> set[int]:
    """Return the operations that read what `start` computed, directly or not."""
    reached = {start}
    for index in range(start + 1, len(entries)):
        if reached.intersection(entries[index].parents):
            reached.add(index)
    return reached - {start}


def same_shapes(reference: Tape, other: Tape) -> bool:
    """Tell whether two runs did the same operations on tensors of the same shapes."""
    first = [(entry.name, *(value.shape for value in entry.values if value is not None)) for entry in reference.entries]
    second = [(entry.name, *(value.shape for value in entry.values if value is not None)) for entry in other.entries]
    return first == second
