"""Whether a module behaves differently in training mode."""

from __future__ import annotations

from typing import NamedTuple

YES, NO, UNKNOWN = "yes", "no", "unknown"
OF_LIBRARY = "a layer of "
"""How a detail begins that is a network of a library, which is known to have such layers, not a layer in sight."""


class Option(NamedTuple):
    """A parameter of a constructor on which `layer`, which depends on the mode, hangs.

    The layer is there where `wanted` is given, or anything but zero, None and False where `wanted` is None: a chance
    of dropout, a flag, the name of a norm. `default` tells whether it is there where nobody gives anything. `needs` are
    the options on which it hangs as well: dropout between the layers of a network, of which there may be one alone.
    """

    parameter: str
    layer: str
    default: str
    wanted: str | int | float | None = None
    needs: tuple[Option, ...] = ()


class Dependence(NamedTuple):
    """Whether a module behaves differently in training mode, and a layer that does.

    `options` are what callers may switch layers off or on with; with options YES is said of what the constructor does
    unless it is told otherwise. `hangs_on` are their parameters, and others that the answer hangs on, where nothing
    else leaves it open. `hints` is set where the answer is unknown and a model of a library, which most likely has
    such layers, is a part.
    """

    answer: str
    detail: str = ""
    hangs_on: frozenset[str] = frozenset()
    options: frozenset[Option] = frozenset()
    hints: bool = False

    @property
    def is_certain(self) -> bool:
        """Tell whether there is a layer that depends on the mode, whatever the constructor is given."""
        return self.answer == YES and not self.options
