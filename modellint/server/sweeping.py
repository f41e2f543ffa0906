"""When memory is freed: after an answer or when nobody types, never while somebody waits.

An analysis leaves circles of references behind, some megabytes for a long file. The interpreter would look for them
in the middle of one, at every object of the project; or, with an analysis that forbids it, hardly ever.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable

SOON = 0.05  # seconds after an answer: whoever types on waits for no sweep
MOST = 30  # answers without one
LATER = 5.0  # seconds without a message


class Sweeper:
    """Sweeps with `run`, which is given what the thread of the engines shall do once it is free.

    What is alive after the first answer, or a long silence, is left alone until the next silence: a sweep looks at what
    has come since.
    """

    def __init__(self, run: Callable[[Callable[[], None]], object]) -> None:
        self._run = run
        self._soon: asyncio.TimerHandle | None = None
        self._later: asyncio.TimerHandle | None = None
        self._sweeps = 0
        self._answers = 0

    def answered(self) -> None:
        """Take notice that an answer has been worked out."""
        gc.disable()
        loop = asyncio.get_running_loop()
        self._answers += 1
        if self._soon is None or self._answers < MOST:
            if self._soon is not None:
                self._soon.cancel()
            self._soon = loop.call_later(SOON, self._sweep)
        if self._later is not None:
            self._later.cancel()
        self._later = loop.call_later(LATER, self._run, _settle)

    def _sweep(self) -> None:
        self._soon, self._answers = None, 0
        self._run(_collect if self._sweeps else _settle)
        self._sweeps += 1


def _collect() -> None:
    gc.collect()


def _settle() -> None:
    gc.unfreeze()
    gc.collect()
    gc.freeze()
