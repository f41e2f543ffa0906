"""Who touches which event: what one starting point notes must not hang on another one, to be kept by itself."""

from __future__ import annotations

import ast

from modellint.static.flow.events import CallSite, Event, EventKey, Mark, Recorder, Snapshot
from modellint.static.flow.values import Site
from modellint.static.project import FunctionInfo


class Tangled(Exception):
    """Two starting points have shared more than can be told apart: all has to be run afresh."""


class Watch(Recorder):
    """A recorder that notices what reaches events of another starting point; those of the top level come first."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = 0  # events of the top level
        self.floor = 0  # events of starting points before the one that runs
        self.alone = True

    def note(self, key: EventKey, function: FunctionInfo, text: str, snapshot: Snapshot) -> int | None:
        """Record that `key` happened."""
        number = super().note(key, function, text, snapshot)
        if number is not None:
            self._touch(number)
        return number

    def use(self, taint: frozenset[int], name: str) -> None:
        """Record that results of `taint` ended up as `name`."""
        self._touch(*taint)
        super().use(taint, name)

    def keep(self, taint: frozenset[int], place: ast.expr) -> None:
        """Record that results of `taint` were put into `place`, where that is an attribute."""
        self._touch(*taint)
        super().keep(taint, place)

    def mark_training(self, taint: frozenset[int], chain: tuple[CallSite, ...]) -> None:
        """Record that a gradient is computed from the results `taint`, in the function that `chain` leads to."""
        self._touch(*taint)
        super().mark_training(taint, chain)

    def drop(self, site: Site, taint: frozenset[int]) -> None:
        """Record that the results of `taint` computed at `site` are thrown away."""
        self._touch(*taint)
        super().drop(site, taint)

    def abandon(self, chain: tuple[CallSite, ...], root: FunctionInfo | None = None, since: Mark | None = None) -> None:
        """Forget what was noted below `chain`: how far it got hangs on what else was run."""
        self.alone = False
        super().abandon(chain, root, since)

    def begin(self) -> None:
        """Take what comes for another starting point."""
        self.floor, self.alone = len(self.events), True

    def replay(self, events: list[Event]) -> None:
        """Take over the events of a starting point that need not be run."""
        for event in events:
            if event.key in self._numbers:
                raise Tangled
            self._numbers[event.key] = len(self.events)
            self.events.append(event)

    def _touch(self, *numbers: int) -> None:
        for number in numbers:
            if 0 <= number < self.floor:
                if number >= self.shared:
                    raise Tangled
                self.alone = False
