"""The findings of the last trace in a text that may have changed since: at the places where their lines are now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from modellint.diagnostic import Diagnostic, Severity
from modellint.linting.kept import Kept
from modellint.server.shifting import shifted
from modellint.sources import Read, SourceError, read_source

STALE = "as of the last trace; the file has changed since"


def lasting(kept: Kept, path: Path, read: Read) -> Iterator[Diagnostic]:
    """Yield what `kept` holds of the file `path`; those of a changed file are marked, and infos.

    What was seen in lines that are gone, or say something else now, is gone.
    """
    name = str(path)
    mine = [finding for finding in kept.findings if finding.filename == name]
    if not mine:
        return
    old, new = kept.texts.get(name), _text(path, read)
    if old is not None and old == new:
        yield from mine
        return
    before, now = (old if old is not None else new or "").split("\n"), (new or "").split("\n")
    for finding in mine:
        for moved in shifted([finding], before, now):
            if _row(before, finding) == _row(now, moved) != "":
                yield replace(moved, message=f"{finding.message} ({STALE})", severity=Severity.INFO)


def _row(rows: list[str], finding: Diagnostic) -> str:
    row = finding.span.start.row
    return rows[row - 1].strip() if row <= len(rows) else ""


def _text(path: Path, read: Read) -> str | None:
    try:
        return read_source(path, read(path)).text
    except (OSError, SourceError):
        return None
