"""Findings of both passes about one line are one story: the static one tells it, the runtime one is its proof."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from modellint.diagnostic import Diagnostic


def joined(static: Sequence[Diagnostic], traced: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return all findings, sorted; one of the runtime pass names the static ones of its line in `explained_by`.

    Its line is where it stands, where the module was constructed, or where the project calls into a library.
    """
    by_line: dict[tuple[str, int], list[str]] = {}
    for diagnostic in static:
        if diagnostic.cell is None:
            by_line.setdefault((diagnostic.filename, diagnostic.span.start.row), []).append(diagnostic.code)
    return sorted((*static, *(_explained(found, by_line) for found in traced)), key=lambda found: found.sort_key)


def _explained(found: Diagnostic, by_line: dict[tuple[str, int], list[str]]) -> Diagnostic:
    if found.runtime is None:
        return found
    places = [(found.filename, found.span.start.row)]
    places += [(related.filename, related.position.row) for related in found.related]
    codes = [code for place in places for code in by_line.get(place, ()) if code != found.code]
    if not codes:
        return found
    known = found.runtime.explained_by
    return replace(found, runtime=replace(found.runtime, explained_by=tuple(dict.fromkeys((*known, *codes)))))
