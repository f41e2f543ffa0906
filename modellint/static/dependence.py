"""Whether a module behaves differently in training mode."""

from __future__ import annotations

from typing import NamedTuple

YES, NO, UNKNOWN = "yes", "no", "unknown"


class Dependence(NamedTuple):
    """Whether a module behaves differently in training mode, and a layer that does.

    `hangs_on` are the parameters of a constructor that the answer is unknown for, where nothing else leaves it open.
    `amounts` are those of them, and others, that are the chance of a dropout: zero unless a caller gives one. `hints`
    is set where the answer is unknown and a model of a library, which most likely has such layers, is a part.
    """

    answer: str
    detail: str = ""
    hangs_on: frozenset[str] = frozenset()
    amounts: frozenset[str] = frozenset()
    hints: bool = False
