"""Find the lines that draw from `random` or `numpy.random`, or from torch by a road no operator shows."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from modellint.runtime.capture import adapter
from modellint.runtime.capture.random_sources import Source
from modellint.runtime.capture.sites import SiteTable
from modellint.runtime.trace import HiddenDraw


class DrawFinder:
    """Compares the random states of some sources line by line, during a forward that is known to move them."""

    def __init__(self, sites: SiteTable, sources: Sequence[Source]) -> None:
        self._sites = sites
        self._sources = sources
        self._last: dict[str, Hashable] = {}
        self._found: dict[tuple[str, int | None], None] = {}
        self._where: dict[FrameType, int | None] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Trace the lines that run inside; does nothing where no source is looked for."""
        if not self._sources:
            yield
            return
        self._last = self._states()
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            yield
        finally:
            sys.settrace(before)
            self._compare(None)

    def draws(self) -> list[HiddenDraw]:
        """Return what was found."""
        return [HiddenDraw(source, site) for source, site in self._found]

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if self._sites.kind(frame.f_code) == 0:
            return None
        self._where[frame] = self._sites.site(frame)
        return self._line

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        self._compare(self._where.get(frame))
        if event == "return":
            self._where.pop(frame, None)
        else:
            self._where[frame] = self._sites.site(frame)
        return self._line

    def _compare(self, site: int | None) -> None:
        for source, state in self._states().items():
            if state != self._last.get(source):
                self._found[source, site] = None
                self._last[source] = state

    def _states(self) -> dict[str, Hashable]:
        with adapter.unobserved():
            return {source.name: source.fingerprint() for source in self._sources}
