"""What a file is to the static passes: text with `\\n` line ends, whatever it looked like on disk."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

# Half a surrogate pair cannot come from UTF-8, but from encodings such as unicode_escape.
_NOT_PYTHON = re.compile("[\0\ud800-\udfff]")


Read = Callable[[Path], bytes]
"""From the absolute path of a file to its content; raises `OSError` where it cannot be read."""


def from_disk(path: Path) -> bytes:
    """Return the content of a file; raise `OSError` where it cannot be read."""
    return path.read_bytes()


class SourceError(ValueError):
    """A file that cannot be turned into Python text; `row` and `column` are 1-based."""

    def __init__(self, message: str, row: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.row = row
        self.column = column


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it is analysed.

    `path` is absolute. `text` is Python, or Rust where `kind` says so: for a notebook its code cells, one below the
    other, with what only IPython understands replaced row by row. `cells` holds the first row of each code cell, in
    order, `numbers` the number of each in the notebook, where cells of every kind count, from 1.
    """

    path: Path
    text: str
    kind: Literal["python", "notebook", "rust"] = "python"
    cells: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The rows of `text`. (`str.splitlines` would also split at form feeds, which Python does not.)"""
        return self.text.split("\n")

    def locate(self, row: int) -> tuple[int | None, int]:
        """Return (number of the cell or None, row inside it) of a row of `text`."""
        if not self.cells:
            return None, row
        place = max(1, bisect_right(self.cells, row)) - 1
        return self.numbers[place], row - self.cells[place] + 1

    def first_row(self, cell: int) -> int | None:
        """Return the row of `text` that a cell begins with, by the number of the cell; None if it is no code cell."""
        return self.cells[self.numbers.index(cell)] if cell in self.numbers else None


def read_source(path: Path, data: bytes | None = None) -> SourceFile:
    """Read `path`, or take `data` for its content.

    Raises `SourceError` where the content is no text or no notebook, and `OSError` where it cannot be read.
    """
    if data is None:
        data = path.read_bytes()
    if path.suffix == ".ipynb":
        from modellint.sources.notebook import read_notebook

        return read_notebook(path, data)
    if path.suffix == ".rs":
        return SourceFile(path, decode(data, "utf-8-sig"), "rust")
    return SourceFile(path, decode(data, encoding_of(data)))


def decode(data: bytes, encoding: str) -> str:
    """Return the text of a file: byte order mark and line ends are dealt with.

    Raises `SourceError` with the place of the first byte that the encoding does not have.
    """
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        before = data[: error.start].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        row, line = before.count(b"\n") + 1, before.rpartition(b"\n")[2]
        column = len(line.removeprefix(codecs.BOM_UTF8).decode(encoding, errors="replace")) + 1
        name = "UTF-8" if encoding.startswith("utf-8") else encoding
        raise SourceError(f"not {name}: byte 0x{data[error.start]:02x}", row, column) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    suspicious = "\0" in text or not text.isascii()
    if suspicious and (match := _NOT_PYTHON.search(text)):
        before_it = text[: match.start()]
        row, column = before_it.count("\n") + 1, len(before_it.rpartition("\n")[2]) + 1
        raise SourceError("a null byte" if match[0] == "\0" else "half of a surrogate pair", row, column)
    return text


def error_in(text: str) -> SyntaxError | None:
    """Return why a program cannot be parsed, None where it can be."""
    try:
        compile(text, "<text>", "exec", _ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return error if isinstance(error, SyntaxError) else SyntaxError(str(error))
    return None


_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST
_REWRITING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*future[-_](fstrings|annotations)\b", re.M)
"""Declarations of codecs that packages of those names add: they rewrote newer syntax for older versions of Python, and
the text itself is UTF-8."""


def encoding_of(data: bytes) -> str:
    """Return the encoding of a Python file; raise `SourceError` where its declaration is wrong."""
    head = b"\n".join(data[:400].splitlines()[:2])
    if b"coding" not in head or _REWRITING.search(head):
        return "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"
    from io import BytesIO
    from tokenize import detect_encoding

    try:
        encoding = detect_encoding(BytesIO(data).readline)[0]
        codecs.lookup(encoding)
        "".encode(encoding)  # codecs such as base64 and rot13 are known, and encode no text
    except (SyntaxError, LookupError, UnicodeError) as error:
        raise SourceError(f"wrong encoding declaration: {error}") from None
    return encoding
