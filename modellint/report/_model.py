"""What an output format gets to see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from modellint.diagnostic import Diagnostic, Position
from modellint.sources import SourceError, SourceFile, read_source

_LARGEST = 10_000_000
"""Bytes; a finding may stand at a file of weights, which has no lines to show."""


@dataclass(slots=True)
class Report:
    """All that a run found, sorted.

    `checked` names what was looked at, in order: absolute file names or, with `unit` "model", targets.
    `sources` holds texts that are at hand, by file name; others are read from disk when a format asks.
    """

    diagnostics: Sequence[Diagnostic]
    checked: Sequence[str]
    sources: Mapping[str, SourceFile] = field(default_factory=dict)
    unit: str = "file"
    color: bool = False
    quiet: bool = False
    _read: dict[str, SourceFile | None] = field(default_factory=dict)

    def source(self, filename: str) -> SourceFile | None:
        """Return the text of a file, None where it cannot be read."""
        if filename in self.sources:
            return self.sources[filename]
        if filename not in self._read:
            try:
                small = Path(filename).stat().st_size <= _LARGEST
                self._read[filename] = read_source(Path(filename)) if small else None
            except (SourceError, OSError, ValueError):
                self._read[filename] = None
        return self._read[filename]

    def line(self, filename: str, row: int, cell: int | None = None) -> str:
        """Return a row of a file or, for a notebook, of its cell; empty where there is none."""
        source = self.source(filename)
        if source is None:
            return ""
        if cell is not None and (first := source.first_row(cell)) is not None:
            row += first - 1
        lines = source.lines
        return lines[row - 1] if 0 < row <= len(lines) else ""

    def units(self, filename: str, position: Position, cell: int | None = None, encoding: str = "utf-16") -> int:
        """Return the 0-based column of `position` in code units of `encoding`, as editors count."""
        before = self.line(filename, position.row, cell)[: position.column - 1]
        missing = position.column - 1 - len(before)  # the row is not at hand, or ends before
        return code_units(before, encoding) + missing


def code_units(text: str, encoding: str) -> int:
    """Return how long `text` is in `utf-8`, `utf-16` or `utf-32`."""
    if text.isascii() or encoding == "utf-32":
        return len(text)
    if encoding == "utf-8":
        return len(text.encode(errors="surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
