"""What can be parsed of a file that cannot be parsed as it is."""

from __future__ import annotations

from dataclasses import replace

from modellint.sources.legacy import read_as_today
from modellint.sources.notebook import without_broken_cells
from modellint.sources.python import SourceFile, error_in


def readable_part(source: SourceFile) -> tuple[SourceFile, list[SyntaxError]]:
    """Return what can be parsed of a program or a notebook, row for row, and an error for each part that cannot be.

    A program of an older Python is read as such, with its first error, and so are the cells of a notebook, each with
    its own; broken ones are left out. The errors are empty where all can be parsed as it is, and where nothing can.
    """
    error = error_in(source.text)
    if error is None:
        return source, []
    if source.cells:
        return without_broken_cells(source)
    text = read_as_today(source.text)
    return (source, []) if text is None else (replace(source, text=text), [error])
