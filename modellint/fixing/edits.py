"""Text edits: from two texts, onto a text, and which of them go together."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, pairwise
from typing import NamedTuple

from modellint.diagnostic import Diagnostic, Edit, Position, Span


def difference(old: str, new: str) -> tuple[Edit, ...]:
    """Return the edits that turn `old` into `new`, in order: no more than the characters of a row that changed.

    Rows are matched without their indentation, so that a block that moved to the right is touched at its margin only.
    """
    rows, fresh = _rows(old), _rows(new)
    head = _common(rows, fresh)
    tail = _common(rows[head:][::-1], fresh[head:][::-1])
    begin = sum(map(len, rows[:head]))
    rows, fresh = rows[head : len(rows) - tail], fresh[head : len(fresh) - tail]
    starts = list(accumulate(map(len, rows), initial=begin))
    matcher = SequenceMatcher(None, [row.strip() for row in rows], [row.strip() for row in fresh], autojunk=False)
    changes: list[_Change] = []
    for _, i, j, k, m in matcher.get_opcodes():
        if j - i == m - k:
            pairs = zip(range(i, j), range(k, m), strict=True)
            changes += (_trimmed(starts[a], rows[a], fresh[b]) for a, b in pairs if rows[a] != fresh[b])
        else:
            changes.append(_trimmed(starts[i], "".join(rows[i:j]), "".join(fresh[k:m])))
    breaks = [-1, *(place for place, letter in enumerate(old) if letter == "\n")]
    return tuple(
        Edit(Span(_position(start, breaks), _position(end, breaks)), content)
        for start, end, content in _joined(changes)
    )


def _rows(text: str) -> list[str]:
    """Return the rows of `text` with their line ends. (`str.splitlines` would also split at form feeds.)"""
    rows = text.split("\n")
    return [f"{row}\n" for row in rows[:-1]] + ([rows[-1]] if rows[-1] else [])


class _Change(NamedTuple):
    """Replace the characters from `start` to `end` by `content`."""

    start: int
    end: int
    content: str


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return how many items `a` and `b` have in common at their beginning."""
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _trimmed(start: int, old: str, new: str) -> _Change:
    """Return the change from `old`, which begins at `start`, to `new`, without what they share at both ends."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    return _Change(start + head, start + len(old) - tail, new[head : len(new) - tail])


def _joined(changes: Iterable[_Change]) -> Iterator[_Change]:
    """Yield `changes` with those that touch each other made one."""
    current: _Change | None = None
    for change in changes:
        if current is not None and current.end == change.start:
            current = _Change(current.start, change.end, current.content + change.content)
            continue
        if current is not None:
            yield current
        current = change
    if current is not None:
        yield current


def _position(offset: int, breaks: Sequence[int]) -> Position:
    """Return the place of a character; `breaks` are the offsets of the line ends, -1 before the first row."""
    row = bisect_left(breaks, offset)
    return Position(row, offset - breaks[row - 1])


def apply(rows: Sequence[str], edits: Iterable[Edit]) -> list[str]:
    """Return the rows of a text (without line ends) after `edits`, which do not overlap."""
    result = list(rows)
    for edit in sorted(edits, key=lambda edit: edit.span, reverse=True):
        start, end = edit.span.start, edit.span.end
        text = result[start.row - 1][: start.column - 1] + edit.content + result[end.row - 1][end.column - 1 :]
        result[start.row - 1 : end.row] = text.split("\n")
    return result


def compatible(diagnostics: Iterable[Diagnostic]) -> tuple[list[Diagnostic], list[Edit]]:
    """Return the findings whose fixes go together, the earlier ones first, and all edits of these fixes.

    An edit that several fixes have in common (the same import, say) is there once.
    """
    chosen: list[Diagnostic] = []
    edits: list[Edit] = []
    for diagnostic in diagnostics:
        if diagnostic.fix is None:
            continue
        fresh = [edit for edit in diagnostic.fix.edits if edit not in edits]
        if fresh and not _overlap([*edits, *fresh]):
            chosen.append(diagnostic)
            edits += fresh
    return chosen, edits


def _overlap(edits: Iterable[Edit]) -> bool:
    ordered = sorted(edits, key=lambda edit: (edit.cell or 0, edit.span))
    return any(
        a.cell == b.cell and (a.span.end > b.span.start or a.span.start == b.span.start) for a, b in pairwise(ordered)
    )
