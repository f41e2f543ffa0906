"""From our edits to the protocol's: fixes, comments that silence, everything that is safe at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace

from modellint.diagnostic import Diagnostic, Edit, Position, Span
from modellint.fixing.edits import difference
from modellint.server.documents import Document, Open
from modellint.server.texts import Text
from modellint.sources.notebook import python_rows
from modellint.sources.suppressions import Suppression, find_suppressions

_SILENT = ("ML001", "ML002")  # about comments, and about what no comment can help


def suppression(document: Open, finding: Diagnostic) -> Edit | None:
    """Return the edit that silences `finding` in its line, None where no comment can."""
    if finding.code in _SILENT:
        return None
    text = document.part(document.cell_uri(finding.cell))[0]
    rust = document.path.suffix == ".rs"
    rows = [text.line(number) for number in range(len(text.starts))]
    readable = rows if isinstance(document, Document) else python_rows("\n".join(rows))
    known = find_suppressions("\n".join(readable), rust=rust)
    last = max((s.rows[1] for s in known), default=0)
    places = dict.fromkeys((finding.span.start.row, finding.span.end.row, *range(finding.span.end.row, last + 1)))
    for row in places:
        if not 0 < row <= len(rows):
            continue
        edit = _silencing(rows[row - 1], row, finding, known, rust)
        changed = list(readable)
        start, end = edit.span.start.column - 1, edit.span.end.column - 1
        changed[row - 1] = readable[row - 1][:start] + edit.content + readable[row - 1][end:]
        after = find_suppressions("\n".join(changed), rust=rust)
        if any(s.kind != "malformed" and s.covers(finding.span) and s.names(finding.code, finding.name) for s in after):
            return replace(edit, cell=finding.cell)
    return None


def _silencing(line: str, row: int, finding: Diagnostic, known: Iterable[Suppression], rust: bool) -> Edit:
    for comment in known:
        if comment.row == row and comment.kind == "ignore" and comment.codes:
            end = comment.codes[-1].end
            return Edit(Span.of(row, end, row, end), f", {finding.code}")
    end = len(line.rstrip()) + 1
    mark = "//" if rust else "#"
    return Edit(Span.of(row, end, row, len(line) + 1), f"  {mark} modellint: ignore[{finding.code}]")


def rewritten(document: Open, after: bytes) -> Iterator[Edit]:
    """Yield the edits that make `after` of an open file, cell by cell in a notebook."""
    if isinstance(document, Document):
        yield from difference(_plain(document.text), _plain(Text.of(after.decode(errors="replace"))))
        return
    sources = [cell["source"] for cell in json.loads(after)["cells"]]
    for number, (cell, source) in enumerate(zip(document.cells, sources, strict=True), 1):
        if not cell.is_code:
            continue
        fresh = source if isinstance(source, str) else "".join(source)
        for edit in difference(_plain(cell.text), fresh):
            yield replace(edit, cell=number)


def _plain(text: Text) -> str:
    return "\n".join(text.line(number) for number in range(len(text.starts)))


def as_changes(document: Open, edits: Iterable[Edit], encoding: str) -> dict[str, list[dict[str, object]]]:
    """Return edits as the protocol has them, by address, in the line ends of the text that they change."""
    changes: dict[str, list[dict[str, object]]] = {}
    for edit in edits:
        uri = document.cell_uri(edit.cell)
        text = document.part(uri)[0]
        content = edit.content.replace("\n", "\r\n") if "\r\n" in text.content else edit.content
        extent = {"start": _place(text, edit.span.start, encoding), "end": _place(text, edit.span.end, encoding)}
        changes.setdefault(uri, []).append({"range": extent, "newText": content})
    return changes


def _place(text: Text, position: Position, encoding: str) -> dict[str, int]:
    line, character = text.place(position, encoding)
    return {"line": line, "character": character}
