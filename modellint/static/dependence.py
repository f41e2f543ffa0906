"""Whether a module behaves differently in training mode."""

from __future__ import annotations

from typing import NamedTuple

YES, NO, UNKNOWN = "yes", "no", "unknown"


class Dependence(NamedTuple):
    """Whether a module behaves differently in training mode, and a layer that does.

    `hangs_on` are the parameters of a constructor that the answer is unknown for, where nothing else leaves it open.
    """

    answer: str
    detail: str = ""
    hangs_on: frozenset[str] = frozenset()
