"""Which file led to which other one: what has to be worked out again when one of them changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

Purpose: TypeAlias = Literal["called", "judged"]


@dataclass(frozen=True, slots=True)
class Trails:
    """Notes of a project, made while its names are followed.

    `reads`: what is known of the code of a file follows from the code of these files, and so on from theirs.
    `names`: it follows from which names these files define, or import in turn, and from nothing else in them.
    `called`: where the values in a file come from follows, beside what it reads, from these callers, and so on.
    `judged`: what is reported of a file follows, beside its code, from what is reported of these: its callers.
    `tracing` are the files whose report asked where values come from.
    `askers` and `judges` have the words that were searched for to find callers, with the files whose callers they are:
    to follow values, and to judge.
    """

    reads: dict[Path, set[Path]] = field(default_factory=dict)
    names: dict[Path, set[Path]] = field(default_factory=dict)
    called: dict[Path, set[Path]] = field(default_factory=dict)
    judged: dict[Path, set[Path]] = field(default_factory=dict)
    tracing: set[Path] = field(default_factory=set)
    askers: dict[str, set[Path]] = field(default_factory=dict)
    judges: dict[str, set[Path]] = field(default_factory=dict)

    def read(self, reader: Path, path: Path) -> None:
        """Note that a name in the code of `reader` is defined in the file `path`."""
        if reader is not path:
            self.reads.setdefault(reader, set()).add(path)

    def name(self, reader: Path, path: Path) -> None:
        """Note that a name in `reader` was looked for in the file `path`."""
        self.names.setdefault(reader, set()).add(path)

    def call(self, callee: Path, path: Path, purpose: Purpose) -> None:
        """Note that the file `path` was read as one that may call what `callee` defines."""
        (self.judged if purpose == "judged" else self.called).setdefault(callee, set()).add(path)

    def ask(self, word: str, callee: Path, purpose: Purpose) -> None:
        """Note that the files with `word` were searched for as callers of what `callee` defines."""
        (self.judges if purpose == "judged" else self.askers).setdefault(word, set()).add(callee)
