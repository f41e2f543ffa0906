"""A text as the protocol sees it: lines, columns in code units, changes; nothing a client sends can break it."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from modellint.diagnostic import Position
from modellint.report import code_units

# What ends a line in the protocol. (`str.splitlines` knows more of them, such as form feeds.)
_BREAK = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Text:
    """A text and the offsets at which its lines start."""

    content: str
    starts: tuple[int, ...]

    @classmethod
    def of(cls, content: str) -> Text:
        """Return `content` with its lines found."""
        return cls(content, (0, *(match.end() for match in _BREAK.finditer(content))))

    def line(self, number: int) -> str:
        """Return the 0-based line `number` without its end, empty where there is none."""
        if not 0 <= number < len(self.starts):
            return ""
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.content)
        return self.content[self.starts[number] : end].rstrip("\r\n")

    def offset(self, line: int, character: int, encoding: str) -> int:
        """Return the index of a position; one behind the end of its line, or of the text, is that end."""
        if line >= len(self.starts):
            return len(self.content)
        return self.starts[max(line, 0)] + column(self.line(line), character, encoding)

    def position(self, line: int, character: int, encoding: str) -> Position:
        """Return a position of the protocol as one of ours, clamped like `offset`."""
        offset = self.offset(line, character, encoding)
        row = bisect_right(self.starts, offset)
        return Position(row, offset - self.starts[row - 1] + 1)

    def place(self, position: Position, encoding: str) -> tuple[int, int]:
        """Return (line, character) of a position of ours."""
        before = self.line(position.row - 1)[: position.column - 1]
        return position.row - 1, code_units(before, encoding)

    def replaced(self, start: int, end: int, new: str) -> Text:
        """Return the text with `new` in the place of what is between two offsets, in whichever order they come."""
        start, end = min(start, end), max(start, end)
        return Text.of(self.content[:start] + new + self.content[end:])


def column(line: str, units: int, encoding: str) -> int:
    """Return how many characters of `line` its first `units` code units are; half a character counts as none."""
    if units <= 0:
        return 0
    if line.isascii() or encoding == "utf-32":
        return min(units, len(line))
    for index, character in enumerate(line):
        units -= code_units(character, encoding)
        if units < 0:
            return index
        if units == 0:
            return index + 1
    return len(line)
