"""Where samples mix: the first operations whose results depend on two samples, and whether they are to blame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from modellint.runtime.probes.batch import Batch
from modellint.runtime.probes.bench import Bench, OutOfTime
from modellint.runtime.probes.compare import changed, difference, tolerance
from modellint.runtime.probes.neighbours import Leak
from modellint.runtime.probes.result import FAILED, PASSED, Culprit, ProbeResult
from modellint.runtime.probes.samples import Axis, own
from modellint.runtime.probes.tape import Entry, Tape, Values
from modellint.runtime.probes.tree import leaves

_ROUNDS = 6
_SUSPECTS = 8
_UNBATCHED = ("multi_head_attention", "lstm", "gru", "rnn")
Group = tuple[str, int | None]


def judge_leak(bench: Bench, leak: Leak) -> ProbeResult:
    """Name the operations that mix samples, or say why the leak is none."""
    samples = leak.samples
    outputs = [leaf for _, leaf in leaves(samples.outputs) if isinstance(leaf, torch.Tensor)]
    limit = tolerance(outputs)
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
            return [self._apart(before, after, kept) for before, after in zip(reference, own, strict=False)]

        return self.bench.tape(self.reference, mend=mend, keep=True)

    def _apart(self, before: torch.Tensor | None, after: torch.Tensor, kept: bool) -> torch.Tensor | None:
        if before is None or before.shape != after.shape:
            return before
        size = self.batch.size
        axis = next((a for a in range(before.dim()) if before.shape[a] and before.shape[a] % size == 0), None)
        if axis is None:
            return before
        result = (before if kept else after).clone()
        own(result, Axis(axis), self.keep, size).copy_(own(after if kept else before, Axis(axis), self.keep, size))
        return result

    def still_leaks(self, groups: Iterable[Group]) -> bool:
        """Tell whether the kept sample still changes with the others when these groups are healed."""
        outputs = self.run(self.others_changed, self.tape(groups, kept=False))
        samples = self.leak.samples
        return not difference(samples.of(samples.outputs, self.keep), samples.of(outputs, self.keep)).exact


def group(entry: Entry) -> Group:
    """Return what makes operations one culprit: the same operator at the same source line."""
    return entry.name, entry.site


def _culprits(bench: Bench, leak: Leak) -> tuple[list[Culprit], bool, list[Any]]:
    try:
        return _search(bench, leak)
    except OutOfTime:
        return [], True, []


def _search(bench: Bench, leak: Leak) -> tuple[list[Culprit], bool, list[Any]]:
    masks = _Masks(bench, leak)
    found: dict[Group, int] = {}
    same_shapes = True
    for turn in range(_ROUNDS):
        ours, theirs = masks.tape(found, kept=True), masks.tape(found, kept=False)
        masks.run(masks.own_changed, ours)
        masks.run(masks.others_changed, theirs)
        if turn == 0:
            same_shapes = _same_shapes(masks.reference, theirs)
        fresh = _mixers(masks, ours, theirs)
        fresh = {key: index for key, index in fresh.items() if key not in found}
        if not fresh:
            break
        found |= fresh
        if not masks.still_leaks(found):
            break
    guilty = _guilty(masks, list(found))
    entries = masks.reference.entries
    culprits = [
        Culprit(entries[found[key]].name, entries[found[key]].module, entries[found[key]].site, why="mixes samples")
        for key in guilty
    ]
    return sorted(culprits, key=lambda culprit: found[culprit.op, culprit.site]), same_shapes, []


def _guilty(masks: _Masks, groups: Sequence[Group]) -> list[Group]:
    """Return those without whose repair the leak stays; all, where there is but one or too many to try."""
    if len(groups) < 2 or len(groups) > _SUSPECTS:
        return list(groups)
    guilty = [key for key in groups if masks.still_leaks([other for other in groups if other != key])]
    return guilty or list(groups[:1])


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
            placed.append(_placed(by_others, size, keep))
        parents = set(entry.parents)
        if overlap:
            mixed.add(index)
            if not parents & mixed and not parents & astray:
                found.setdefault(group(entry), index)
        if False in placed and not parents & astray:
            astray.add(index)
            if parents & clean and not parents & mixed and not overlap:
                found.setdefault(group(entry), index)
        elif parents & astray and True not in placed:
            astray.add(index)
        if True in placed:
            clean.add(index)
    return found


def _placed(by_others: torch.Tensor, size: int, keep: int) -> bool | None:
    """Tell whether the rows of the kept sample are free of the others' influence, along some axis.

    None where no axis can count the samples, or nothing changed.
    """
    if not bool(by_others.any()):
        return None
    candidates = [
        axis for axis in range(by_others.dim()) if by_others.shape[axis] % size == 0 and by_others.shape[axis]
    ]
    if not candidates:
        return None
    return any(
        not bool(own(by_others, Axis(axis, strided=strided), keep, size).any())
        for axis in candidates
        for strided in (False, True)
    )
