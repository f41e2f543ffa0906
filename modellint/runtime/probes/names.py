"""Which probes there are, and what `--probe` may say. Never imports torch."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProbeInfo:
    """A probe as its users see it: `code` of the rule it feeds, `forwards` it takes while nothing is wrong."""

    name: str
    code: str
    forwards: int
    about: str
    in_default: bool = False
    in_all: bool = True


PROBES: Mapping[str, ProbeInfo] = {
    info.name: info
    for info in (
        ProbeInfo("repeat", "ML701", 2, "the same input twice", in_default=True),
        ProbeInfo("neighbours", "ML607", 6, "other samples in the batch, the first and the last kept", in_default=True),
        ProbeInfo("alone", "ML702", 2, "a sample alone against the same sample in a batch", in_default=True),
        ProbeInfo("reload", "ML704", 3, "saved and loaded into a fresh model", in_default=True),
    )
}
"""In the order in which they run."""

DEFAULT = "default"
ALL = "all"


class ProbeNameError(ValueError):
    """`--probe` names something that is none; the message is one line."""


def parse_probes(text: str) -> tuple[str, ...]:
    """Return the probes that `text` names, in the order in which they run. Raises `ProbeNameError`."""
    wanted: set[str] = set()
    for word in (part.strip() for part in text.split(",")):
        if word == DEFAULT:
            wanted |= {name for name, info in PROBES.items() if info.in_default}
        elif word == ALL:
            wanted |= {name for name, info in PROBES.items() if info.in_all}
        elif word in PROBES:
            wanted.add(word)
        else:
            close = difflib.get_close_matches(word, [*PROBES, DEFAULT, ALL], 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise ProbeNameError(f"--probe: there is no probe {word!r}{hint} (there are: {', '.join(PROBES)})")
    return tuple(name for name in PROBES if name in wanted)
