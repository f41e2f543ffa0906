"""A text with edits applied, whatever its line ends are."""

from __future__ import annotations

import re
from collections.abc import Iterable

from modellint.diagnostic import Edit
from modellint.fixing.edits import apply

_LINE_END = re.compile(r"\r\n|\r|\n")


class NotRewritable(ValueError):
    """The edits cannot be carried over to the file: its text is not what was analysed, or cannot be encoded."""


def rewrite_text(text: str, edits: Iterable[Edit]) -> str:
    """Return `text`, whose line ends may be of any kind, with `edits` applied."""
    ends = _LINE_END.findall(text)
    rows = _LINE_END.split(text)
    edits = list(edits)
    if len(set(ends)) <= 1:
        return (ends[0] if ends else "\n").join(apply(rows, edits))
    # Mixed line ends: each row keeps its own, and a new row has that of the row it came with.
    marked = [row + end for row, end in zip(rows, [*ends, ""], strict=True)]
    for edit in sorted(edits, key=lambda edit: edit.span, reverse=True):
        start, end = edit.span.start, edit.span.end
        own = ends[start.row - 1] if start.row <= len(ends) else ends[-1]
        content = edit.content.replace("\n", own)
        marked[start.row - 1 : end.row] = [
            marked[start.row - 1][: start.column - 1] + content + marked[end.row - 1][end.column - 1 :]
        ]
    return "".join(marked)
