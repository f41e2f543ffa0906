"""From raw findings to those that are shown: comments, per-file ignores, confidence, notebook cells."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from modellint.diagnostic import Diagnostic, Edit, Position, Related, Span
from modellint.linting.suppressing import Used, suppress, unused_where_it_ran
from modellint.settings import Settings
from modellint.sources import Read, SourceError, SourceFile, from_disk, read_source
from modellint.sources.suppressions import Suppression, find_suppressions

_LARGEST = 10_000_000
"""Bytes; a finding may stand at a file of weights, which holds no comments."""
_LINE = re.compile(r"\bline (\d+)\b(?! of )")
"""A line of the finding's own file, in a message."""


def visible(diagnostics: Iterable[Diagnostic], path: Path, settings: Settings) -> list[Diagnostic]:
    """Return the findings of `path` that neither `per-file-ignores` nor `min-confidence` hides."""
    ignored = settings.ignored_in(path)
    floor = settings.min_confidence.rank
    return [d for d in diagnostics if d.code not in ignored and d.confidence.rank >= floor]


def into_cells(diagnostic: Diagnostic, source: SourceFile, read: Read = from_disk) -> Diagnostic:
    """Return a finding with rows that count from their cell, where it or what belongs to it stands in a notebook."""
    others = [
        place if place.filename == diagnostic.filename else _in_its_notebook(place, read)
        for place in diagnostic.related
    ]
    diagnostic = replace(diagnostic, related=tuple(others)) if others else diagnostic
    if not source.cells:
        return diagnostic
    cell, span = _in_its_cell(diagnostic.span, source)

    def related(old: Related) -> Related:
        if old.filename != diagnostic.filename:
            return old
        other, row = source.locate(old.position.row)
        return replace(
            old, position=Position(row, old.position.column), message=f"{old.message} (cell {other})", cell=other
        )

    def line(match: re.Match[str]) -> str:
        other, row = source.locate(int(match[1]))
        return f"line {row}" if other == cell else f"line {row} of cell {other}"

    fix = diagnostic.fix
    return replace(
        diagnostic,
        cell=cell,
        message=_LINE.sub(line, diagnostic.message),
        span=span,
        fix=fix and replace(fix, edits=tuple(_edit(edit, source) for edit in fix.edits)),
        related=tuple(map(related, diagnostic.related)),
    )


def _in_its_notebook(place: Related, read: Read) -> Related:
    """Return a place that is in another notebook with a row that counts from its cell; any other as it is."""
    path = Path(place.filename)
    if path.suffix != ".ipynb":
        return place
    try:
        cell, row = read_source(path, read(path)).locate(place.position.row)
    except (SourceError, OSError):
        return place
    message = f"{place.message} (cell {cell})"
    return replace(place, position=Position(row, place.position.column), message=message, cell=cell)


def _edit(old: Edit, source: SourceFile) -> Edit:
    """Return an edit of a notebook's whole text as one of the cell that it begins in."""
    cell, span = _in_its_cell(old.span, source)
    return Edit(span, old.content, cell)


def _in_its_cell(old: Span, source: SourceFile) -> tuple[int | None, Span]:
    """Return the cell that a span of a notebook's whole text begins in, and the span with rows of that cell."""
    cell, row = source.locate(old.start.row)
    end = Position(old.end.row - old.start.row + row, old.end.column)
    return cell, Span(Position(row, old.start.column), end)


def refine(
    diagnostics: Iterable[Diagnostic],
    settings: Settings,
    ran: Mapping[str, Collection[int]] | None = None,
    judged: Collection[str] = (),
    read: Read = from_disk,
) -> list[Diagnostic]:
    """Return the findings of the runtime pass that are shown, sorted; their files are read for comments, by `read`.

    `ran` holds the rows, by file, that ran under the eyes of the rules with the codes `judged`: a comment there
    that names such a rule and silences nothing is reported as well.
    """
    suppressions: dict[str, Sequence[Suppression]] = {}
    used: Used = set()
    shown: list[Diagnostic] = []
    for diagnostic in diagnostics:
        name = diagnostic.filename
        if name not in suppressions:
            suppressions[name] = _suppressions(Path(name), read)
        kept, hits = suppress([diagnostic], suppressions[name])
        used |= hits
        shown += visible(kept, Path(name), settings)
    for name, rows in (ran or {}).items():
        found = suppressions[name] if name in suppressions else _suppressions(Path(name), read)
        idle = unused_where_it_ran(Path(name), found, used, settings, rows, judged)
        shown += visible(idle, Path(name), settings)
    return sorted(shown, key=lambda d: d.sort_key)


def _suppressions(path: Path, read: Read) -> Sequence[Suppression]:
    try:
        if path.suffix == ".ipynb" or path.stat().st_size > _LARGEST:
            return ()
        return find_suppressions(read_source(path, read(path)).text)
    except (SourceError, OSError, ValueError):  # the finding is no less true for that
        return ()
