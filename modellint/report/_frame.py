"""The lines around a finding, with a mark under it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from modellint.diagnostic import Diagnostic
from modellint.report._model import Report

_WIDTH = 120
_TAB = "    "
_ROWS = 4


def frame(diagnostic: Diagnostic, report: Report) -> Iterator[tuple[str, str, str]]:
    """Yield (row number, code, mark) for at most four rows of a finding; nothing where no text is at hand."""
    start, end = diagnostic.span.start, diagnostic.span.end
    # a span that ends in front of the first character of a row does not reach it
    last = end.row if end.column > 1 or end.row == start.row else end.row - 1
    for row in range(start.row, min(last, start.row + _ROWS - 1) + 1):
        line = report.line(diagnostic.filename, row, diagnostic.cell)
        if not line.strip():
            continue
        first = start.column - 1 if row == start.row else len(line) - len(line.lstrip())
        behind = end.column - 1 if row == end.row else len(line.rstrip())
        yield str(row), *_marked(line, min(first, len(line)), min(max(behind, first + 1), len(line) + 1))
    if last >= start.row + _ROWS:
        yield "...", "", ""


def _marked(line: str, first: int, behind: int) -> tuple[str, str]:
    """Return (line, mark), both cut to a readable width around the marked columns."""
    cut = ""
    if len(line) > _WIDTH:
        offset = max(0, min(first - 20, len(line) - _WIDTH))
        cut = "..." if offset else ""
        line = line[offset : offset + _WIDTH]
        first, behind = first - offset, min(behind - offset, _WIDTH)
    before = cut + printable(line[:first])
    inside = printable(line[first:behind])
    return cut + printable(line), " " * _width(before) + "^" * max(1, _width(inside))


def printable(text: str) -> str:
    """Return `text` without anything that moves a terminal's cursor or changes its state."""
    text = text.replace("\t", _TAB)
    return text if text.isprintable() else "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
