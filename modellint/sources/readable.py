"""What can be parsed of a file that cannot be parsed as it is."""

from __future__ import annotations

from dataclasses import replace

from modellint.sources.legacy import modernised, untabbed
from modellint.sources.notebook import without_broken_cells
from modellint.sources.python import SourceFile

_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST


def readable_part(source: SourceFile) -> tuple[SourceFile, list[SyntaxError]]:
    """Return what can be parsed of a program or a notebook, row for row, and an error for each part that cannot be.

    A program of an older Python is read as such, with its first error, and so are the cells of a notebook, each with
    its own; broken ones are left out. The errors are empty where all can be parsed as it is, and where nothing can.
    """
    error = error_in(source.text)
    if error is None:
        return source, []
    if source.cells:
        return without_broken_cells(source, older)
    text = older(source.text)
    return (source, []) if text is None else (replace(source, text=text), [error])


def older(text: str) -> str | None:
    """Return a program that only an older Python reads as today's; None where it is none of these, either."""
    for given in dict.fromkeys((text, untabbed(text))):
        read = modernised(given) or given
        if error_in(read) is None:
            return read
    return None


def error_in(text: str) -> SyntaxError | None:
    """Return why a program cannot be parsed, None where it can be."""
    try:
        compile(text, "<text>", "exec", _ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return error if isinstance(error, SyntaxError) else SyntaxError(str(error))
    return None
