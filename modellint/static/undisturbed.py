"""Runs what follows deep trees: without the collector, and with one piece of memory for the frames of its calls."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FunctionType
from typing import TypeVar

T = TypeVar("T")

_RECURSION = 8_000  # the interpreter follows nesting, and generated code nests deeply

# CPython (3.11 on) keeps frames in chunks of 16 KiB, and maps and unmaps one at each call that crosses the end of the
# last one, which deep recursion does all the time: a sixth of a run. The chunk of a frame that is larger than that is
# the next power of two: 1 MiB for a frame that asks for so many slots, and as much again is left for what it calls.
_SLOTS = (1 << 20) // 8


def undisturbed(run: Callable[[], T]) -> T:
    """Return what `run` returns; it may recurse deeply, and makes no rubbish that is worth collecting meanwhile."""
    limit, collecting = sys.getrecursionlimit(), gc.isenabled()
    gc.disable()
    sys.setrecursionlimit(max(limit, _RECURSION))
    try:
        result: T = _with_room(run)
        return result
    finally:
        sys.setrecursionlimit(limit)
        if collecting:
            # what is left now stays for long: it goes to the oldest generation, without a look at each object
            gc.freeze()
            gc.unfreeze()
            gc.enable()


def _call(run: Callable[[], T]) -> T:
    return run()


_with_room = FunctionType(_call.__code__.replace(co_stacksize=_SLOTS), globals())
