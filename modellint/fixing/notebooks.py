"""A notebook with edits applied: only the lines of the cells that changed are written anew, all other JSON stays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from modellint.diagnostic import Edit
from modellint.fixing.texts import NotRewritable, rewrite_text
from modellint.sources.notebook import python_rows

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_ATOM = re.compile(r"[^\s,\]}]+")


@dataclass(slots=True)
class _Json:
    """A value and where its text stands; `members` of an object, `items` of an array."""

    start: int
    end: int
    members: dict[str, _Json] = field(default_factory=dict)
    items: list[_Json] = field(default_factory=list)


def rewrite_notebook(text: str, edits: Iterable[Edit]) -> str:
    """Return the JSON `text` with `edits` applied to the code cells that they name.

    Raises `NotRewritable` where an edit touches what is not Python, such as a magic or a cell of text.
    """
    by_cell: dict[int, list[Edit]] = {}
    for edit in edits:
        by_cell.setdefault(edit.cell or 0, []).append(edit)
    try:
        sources = _sources(text, _parse(text, 0))
    except RecursionError as error:
        raise NotRewritable("nested too deeply") from error
    for number, mine in sorted(by_cell.items(), reverse=True):
        if number not in sources:
            raise NotRewritable("no such code cell")
        source = sources[number]
        fresh = _rewritten(text, source, mine)
        text = text[: source.start] + fresh + text[source.end :]
    return text


def _parse(text: str, position: int) -> _Json:
    """Return the value at `position` of the valid JSON `text`."""
    start = _skip(text, position)
    mark = text[start]
    if mark == '"':
        match = _STRING.match(text, start)
        return _Json(start, match.end() if match else start)
    if mark not in "[{":
        match = _ATOM.match(text, start)
        return _Json(start, match.end() if match else start)
    value = _Json(start, start)
    position = _skip(text, start + 1)
    while text[position] not in "]}":
        key = ""
        if mark == "{":
            name = _parse(text, position)
            key = json.loads(text[name.start : name.end], strict=False)
            position = _skip(text, name.end) + 1  # the colon
        inner = _parse(text, position)
        if mark == "{":
            value.members[key] = inner
        else:
            value.items.append(inner)
        position = _skip(text, inner.end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    value.end = position + 1
    return value


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _sources(text: str, notebook: _Json) -> dict[int, _Json]:
    """Return the values that hold the code cells' text, by the numbers of these cells in the notebook."""
    sheets = notebook.members.get("worksheets")
    holders = [notebook] if sheets is None or not sheets.items else sheets.items
    cells = [cell for holder in holders if "cells" in holder.members for cell in holder.members["cells"].items]
    return {
        number: cell.members.get("source") or cell.members.get("input") or _Json(cell.start, cell.start)
        for number, cell in enumerate(cells, 1)
        if _string(text, cell.members.get("cell_type")) == "code"
    }


def _string(text: str, value: _Json | None) -> str:
    if value is None or not text.startswith('"', value.start):
        return ""
    return str(json.loads(text[value.start : value.end], strict=False))


def _rewritten(text: str, source: _Json, edits: list[Edit]) -> str:
    """Return the JSON of a cell's text after `edits`, in the layout that it has."""
    raw = {_string(text, item): text[item.start : item.end] for item in source.items}
    old = "".join(_string(text, item) for item in source.items) or _string(text, source)
    _refuse_magics(old, edits)
    new = rewrite_text(old, edits)
    escape = text.isascii()  # whoever wrote it escapes what is not ASCII, or has nothing of the kind
    if not source.items:
        return json.dumps(new, ensure_ascii=escape)
    pieces = [raw.get(line) or json.dumps(line, ensure_ascii=escape) for line in re.findall(r"[^\n]*\n|[^\n]+", new)]
    first = source.items[0]
    lead = text[source.start + 1 : first.start]
    comma = text[first.end : source.items[1].start] if len(source.items) > 1 else f",{lead}"
    return f"[{lead}{comma.join(pieces)}{text[source.items[-1].end : source.end]}"


def _refuse_magics(old: str, edits: list[Edit]) -> None:
    rows = old.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    analysed = python_rows("\n".join(rows))
    for edit in edits:
        for row in range(edit.span.start.row, edit.span.end.row + 1):
            written = rows[row - 1]
            # an indented magic is still one; otherwise it is not what was analysed
            at_margin = edit.span.start == edit.span.end and not written[: edit.span.start.column - 1].strip()
            if written != analysed[row - 1] and not (at_margin and not edit.content.strip()):
                raise NotRewritable("a magic stands in the way")
