"""Line up the operations of two runs, also where a call is made up of other ones for another shape or layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from modellint.runtime.probes.compare import tensor_difference

_COPY = "aten.clone.default"
"""What `contiguous()` does for one layout and not for another; it changes no value, and parts no runs."""


@dataclass(slots=True)
class Entry:
    """An operation of a run.

    `parents` are the indexes of the operations whose results it reads; `state` fingerprints what it reads and no
    operation of this run produced. In a run that is compared: `inherited` and `own` are the errors of its inputs
    and of its results, `stale` says that the state it reads is another one than the reference read.
    """

    name: str
    module: str
    site: int | None
    parents: tuple[int, ...]
    state: tuple[Any, ...]
    values: list[torch.Tensor | None]
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    """Identities of the storages that it reads from outside the run, and of those that it writes to."""
    draws: bool = False
    """Whether it draws random numbers: how many may depend on what is in the batch."""
    inherited: float = 0.0
    own: float = 0.0
    stale: bool = False
    is_root: bool = False
    error: float = 0.0


def _is_same_copy(entry: Entry, other: Entry) -> bool:
    return entry.name == other.name == _COPY and entry.site == other.site


class Pairing:
    """Finds for each operation of a run its twin in `before`, the operations of the reference.

    `limit`: errors up to it count as none. Where the two runs do different things at one source line, they are taken
    to meet again behind it; anything else that differs is a branch, after which nothing has a twin.
    """

    def __init__(self, before: Sequence[Entry], limit: float) -> None:
        self.diverged: int | None = None
        """The first operation that the reference does not have at its place."""
        self._before = before
        self._limit = limit
        self._next = 0
        self._left: tuple[int, int] | None = None
        """Where the runs branch: the index in this one, and in the reference."""
        self._site: int | None = None
        """The line at which the runs differ, while this one is there."""
        self._start = 0

    def twin(self, entries: Sequence[Entry]) -> Entry | None:
        """Return the operation of the reference that does what the last of `entries` does; None where none does."""
        index, entry = len(entries) - 1, entries[-1]
        if self._left is not None or (self._site is not None and entry.site == self._site):
            return None
        self.settle(entries[:-1])
        before, at = self._before, self._next
        if entry.name == _COPY and not (at < len(before) and _is_same_copy(entry, before[at])):
            self._unaligned(index)
            return None
        while at < len(before) and before[at].name == _COPY and not _is_same_copy(entry, before[at]):
            self._unaligned(index)
            at += 1
        resumed = self.diverged is not None
        if at < len(before) and before[at].name == entry.name and (not resumed or before[at].site == entry.site):
            self._next = at + 1
            return before[at]
        self._unaligned(index)
        previous = entries[index - 1].site if index else None
        rest = at
        while rest < len(before) and before[rest].site == previous != entry.site:
            rest += 1
        same_line = rest < len(before) and before[rest].site == entry.site
        if rest > at and same_line and before[rest].name == entry.name:
            self._next = rest + 1
            return before[rest]
        if entry.site is not None and (same_line or entry.site == previous):
            self._next, self._site, self._start = rest, entry.site, index
        else:
            self._left = (index, rest)
        return None

    def _unaligned(self, index: int) -> None:
        self.diverged = index if self.diverged is None else self.diverged

    def nearest(self, entry: Entry, outputs: Sequence[torch.Tensor]) -> float:
        """Return the error of an operation without a twin: from the nearest value of the reference at the same line."""
        if self._site is None or entry.site != self._site:
            return entry.inherited
        there = [value for other in self._line() for value in other.values if value is not None]
        errors = []
        for tensor in outputs:
            alike = (tensor_difference(value, tensor).relative for value in there if value.shape == tensor.shape)
            errors.append(min(alike, default=None))
        return max((entry.inherited if error is None else error for error in errors), default=entry.inherited)

    def settle(self, entries: Sequence[Entry]) -> None:
        """Judge the line at which the runs differ, once it is behind: it is to blame for what it brings in."""
        if self._site is None:
            return
        line, own = entries[self._start :], range(self._start, len(entries))
        entered = [entries[parent].own for entry in line for parent in entry.parents if parent not in own]
        read = {parent for entry in line for parent in entry.parents}
        if max(entered, default=0.0) <= self._limit:
            known = {mark for entry in self._line() for mark in entry.state}
            for index, entry in zip(own, line, strict=True):
                if index not in read and entry.own > self._limit:
                    entry.is_root, entry.error = True, entry.own
                    entry.stale = any(mark not in known for part in line for mark in part.state)
        while self._next < len(self._before) and self._before[self._next].site == self._site:
            self._next += 1
        self._site = None

    def branch(self, entries: Sequence[Entry]) -> Entry | None:
        """Return the operation at which the longer of the two runs leaves the other, None where both do the same."""
        self.settle(entries)
        ours, theirs = self._left or (len(entries), self._next)
        while theirs < len(self._before) and self._before[theirs].name == _COPY:
            theirs += 1
        rest = len(self._before) - theirs
        longer, at = (self._before, theirs) if rest > len(entries) - ours else (entries, ours)
        return longer[at] if at < len(longer) else None

    def _line(self) -> Sequence[Entry]:
        """Return the operations of the reference at the line at which the runs differ."""
        before, start, end = self._before, self._next, self._next
        while start and before[start - 1].site == self._site:
            start -= 1
        while end < len(before) and before[end].site == self._site:
            end += 1
        return before[start:end]
