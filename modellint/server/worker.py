"""The thread that the engines belong to: one question after the other, and memory freed in between."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from modellint.server.sweeping import Sweeper

_STACK = 64 * 2**20  # bytes: generated code nests deeply, and a thread's stack is small on some systems
_T = TypeVar("_T")


class Superseded(BaseException):
    """Nobody waits for the rest of what the worker does. No `Exception`: the engines keep those to themselves."""


class Worker:
    """One thread with a stack that deep programs fit into."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "modellint")
        before = threading.stack_size(_STACK)
        try:
            self._thread.submit(int).result()  # starts the thread
        finally:
            threading.stack_size(before)
        self._sweeper = Sweeper(self._thread.submit)

    async def do(self, function: Callable[[], _T]) -> _T:
        """Return what `function` returns there; raise what it raises."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, function)
        finally:
            self._sweeper.answered()
