"""The last good findings of a text that does not parse at the moment, moved to where their lines are now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from modellint.diagnostic import Diagnostic, Position, Span


def shifted(findings: Iterable[Diagnostic], old: Sequence[str], new: Sequence[str]) -> Iterator[Diagnostic]:
    """Yield `findings` of the rows `old` at their places in the rows `new`, without fixes.

    What stood in rows that are gone is gone; rows between the first and the last difference are taken one for one.
    """
    head = _common(old, new)
    tail = min(_common(old[::-1], new[::-1]), min(len(old), len(new)) - head)
    last = len(new) - tail  # the first row, 0-based, behind what changed

    def moved(position: Position) -> Position | None:
        row = position.row - 1
        if row >= len(old) - tail:
            row += len(new) - len(old)
        elif row >= last:
            return None
        width = len(new[row]) if row < len(new) else 0
        return Position(row + 1, min(position.column, width + 1))

    for finding in findings:
        start, end = moved(finding.span.start), moved(finding.span.end)
        if start is None:
            continue
        if end is None or end <= start:
            end = Position(
                start.row, max(start.column + 1, len(new[start.row - 1]) + 1 if start.row <= len(new) else 1)
            )
        related = (
            replace(place, position=moved(place.position) or start) if place.filename == finding.filename else place
            for place in finding.related
        )
        yield replace(finding, span=Span(start, end), fix=None, related=tuple(related))


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
