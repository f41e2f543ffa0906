"""Which file led to which other one: what has to be worked out again when one of them changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

Purpose: TypeAlias = Literal["values", "calls", "report"]
"""What another file is read for: to follow values back through it, to judge its calls, or all that is told of it."""


@dataclass(frozen=True, slots=True)
class Trails:
    """Notes of a project, made while its names are followed.

    `reads`: what is known of the code of a file follows from the code of these files, and so on from theirs.
    `names`: it follows from which names these files define, or import in turn, and from nothing else in them.
    `judged`: what is reported of a file follows, beside its code, from the code of these: its callers.
    `shared`: it follows from what is reported of these, and so on from what that follows from.
    `traced`: it follows from values, which were followed through the code of these.
    `askers` and `judges` have the words that were searched for to find callers, with the files whose callers they are:
    to follow values, and to judge.
    """

    reads: dict[Path, set[Path]] = field(default_factory=dict)
    names: dict[Path, set[Path]] = field(default_factory=dict)
    judged: dict[Path, set[Path]] = field(default_factory=dict)
    shared: dict[Path, set[Path]] = field(default_factory=dict)
    traced: dict[Path, set[Path]] = field(default_factory=dict)
    askers: dict[str, set[Path]] = field(default_factory=dict)
    judges: dict[str, set[Path]] = field(default_factory=dict)

    def read(self, reader: Path, path: Path) -> None:
        """Note that a name in the code of `reader` is defined in the file `path`."""
        if reader is not path:
            self.reads.setdefault(reader, set()).add(path)

    def name(self, reader: Path, path: Path) -> None:
        """Note that a name in `reader` was looked for in the file `path`."""
        self.names.setdefault(reader, set()).add(path)

    def load(self, path: Path, reader: Path, purpose: Purpose) -> None:
        """Note what the file `path` was read for, on behalf of `reader`; who follows values notes `traced` himself."""
        if purpose != "values":
            (self.judged if purpose == "calls" else self.shared).setdefault(reader, set()).add(path)

    def trace(self, path: Path, touched: set[Path]) -> None:
        """Note that values were followed through the files `touched` for what is reported of the file `path`."""
        self.traced.setdefault(path, set()).update(touched)

    def ask(self, word: str, callee: Path, purpose: Purpose) -> None:
        """Note that the files with `word` were searched for as callers of what `callee` defines."""
        (self.askers if purpose == "values" else self.judges).setdefault(word, set()).add(callee)
