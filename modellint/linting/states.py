"""In which state files were read: what tells whether they are still the same."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_RACY = 2_000_000_000  # nanoseconds; a file that young may change once more without another time of change
_TICK = 10_000_000  # nanoseconds; a change may bear a time that much too early
State = list[Any]
"""Size, time of change in nanoseconds and digest of a file; empty where there is none."""


class Reads:
    """Reads files, and remembers in which state."""

    def __init__(self) -> None:
        self.states: dict[str, State] = {}
        self.torn = False  # whether a file had two contents in one run

    def __call__(self, path: Path) -> bytes:
        """Return the content of `path`; raises `OSError`."""
        status = path.stat()  # first: what is written after this is noticed
        data = path.read_bytes()
        state: State = [status.st_size, status.st_mtime_ns, digest(data)]
        self.torn |= self.states.setdefault(str(path), state)[2] != state[2]
        return data


def digest(data: bytes) -> str:
    """Return a short name for a content."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def digest_of_names(names: Iterable[str]) -> str:
    """Return a short name for a list of file names, which need not be text."""
    return digest("\n".join(names).encode("utf-8", "surrogateescape"))


def state_of(path: Path) -> State:
    """Return the state that a file is in now."""
    try:
        status = path.stat()
        return [status.st_size, status.st_mtime_ns, digest(path.read_bytes())]
    except OSError:
        return []


def looked_at_again(name: str, old: State, taken: int) -> tuple[State, bytes | None]:
    """Return the state that a file is in now; with its content, unless it surely is as it was at the time `taken`."""
    try:
        status = os.stat(name)  # noqa: PTH116 - hundreds of them
        state = [status.st_size, status.st_mtime_ns]
        if state == old[:2] and status.st_mtime_ns < taken - _RACY:
            return old, None
        content = Path(name).read_bytes()
    except OSError:
        return [], None
    return [*state, digest(content)], content


def is_overtaken(name: str, started: int) -> bool:
    """Tell whether a file or folder has changed since the time `started`; clocks of file systems tick slowly."""
    try:
        changed = os.stat(name).st_mtime_ns  # noqa: PTH116 - hundreds of them
    except OSError:
        return False
    return started - _TICK <= changed <= time.time_ns()
