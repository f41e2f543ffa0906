"""What can be parsed of a file that cannot be parsed as it is."""

from __future__ import annotations

from dataclasses import replace

from modellint.sources.legacy import modernised
from modellint.sources.notebook import without_broken_cells
from modellint.sources.python import SourceFile

_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST


def readable_part(source: SourceFile) -> tuple[SourceFile, list[SyntaxError]]:
    """Return what can be parsed of a program or a notebook, row for row, and an error for each part that cannot be.

    A program of an older Python is read as such, with its first error, a notebook without its broken cells. The errors
    are empty where all can be parsed as it is, and where nothing can.
    """
    error = _error_in(source)
    if error is None:
        return source, []
    text = modernised(source.text)
    older = replace(source, text=text) if text is not None else source
    if text is not None and _error_in(older) is None:
        return older, [error]
    return without_broken_cells(source) if source.cells else (source, [])


def _error_in(source: SourceFile) -> SyntaxError | None:
    try:
        compile(source.text, str(source.path), "exec", _ONLY_AST, dont_inherit=True)
    except SyntaxError as error:
        return error
    return None
