"""A progress line on standard error, for people who wait."""

from __future__ import annotations

import sys
import time
from types import TracebackType

_QUIET_SECONDS = 1.0  # what is done by then needs no progress bar
_INTERVAL = 0.1
_WIDTH = 30


class Progress:
    """Shows how much is done, on a terminal only and after a second; leaves nothing behind."""

    def __init__(self, verb: str, *, enabled: bool = True) -> None:
        self._verb = verb
        self._enabled = enabled and sys.stderr.isatty()
        self._next = time.monotonic() + _QUIET_SECONDS
        self._shown = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._write("")

    def show(self, done: int, total: int, now_at: str = "") -> None:
        """Say that `done` of `total` are done, and what is going on."""
        now = time.monotonic()
        if not self._enabled or now < self._next:
            return
        self._next = now + _INTERVAL
        filled = _WIDTH * done // max(total, 1)
        self._write(
            f"{self._verb} [{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{total}{' ' + now_at if now_at else ''}"
        )

    def _write(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self._shown) + ("\r" if not text else ""))
        sys.stderr.flush()
        self._shown = len(text)
