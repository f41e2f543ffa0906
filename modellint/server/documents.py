"""What is open in the editor: texts and notebooks, each one frozen; a change makes a new one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from modellint.server.texts import Text
from modellint.sources import SourceError
from modellint.sources.python import encoding_of


@dataclass(frozen=True, slots=True)
class Change:
    """Replace what is between two (line, character) places by `text`; without places, everything."""

    text: str
    start: tuple[int, int] | None = None
    end: tuple[int, int] | None = None


_EMPTY = Text.of("")


def changed(text: Text, changes: Iterable[Change], encoding: str) -> Text:
    """Return `text` after `changes`, in their order."""
    for change in changes:
        if change.start is None or change.end is None:
            text = Text.of(change.text)
        else:
            start, end = text.offset(*change.start, encoding), text.offset(*change.end, encoding)
            text = text.replaced(start, end, change.text)
    return text


@dataclass(frozen=True, slots=True)
class Document:
    """An open file. `path` is absolute; a file that was never saved has one, too, that says what it is."""

    uri: str
    path: Path
    version: int | None
    text: Text

    @property
    def data(self) -> bytes:
        """The bytes that saving would write."""
        plain = self.text.content.encode(errors="surrogatepass")
        try:
            return self.text.content.encode(encoding_of(plain))
        except (SourceError, UnicodeError):  # a wrong declaration: the engine says so
            return plain

    @property
    def uris(self) -> tuple[str, ...]:
        """The addresses under which findings are shown."""
        return (self.uri,)

    def cell_uri(self, cell: int | None) -> str:
        """Return the address under which a finding in the cell `cell` is shown."""
        return self.uri

    def part(self, uri: str) -> tuple[Text, int | None, int | None]:
        """Return the text shown under `uri`, its version, and the number of the cell that this is."""
        return self.text, self.version, None


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of an open notebook."""

    uri: str
    is_code: bool
    text: Text = _EMPTY
    version: int | None = None
    language: str = "python"


@dataclass(frozen=True, slots=True)
class Notebook:
    """An open notebook."""

    uri: str
    path: Path
    version: int | None
    cells: tuple[Cell, ...]

    @property
    def code(self) -> list[Cell]:
        """Its code cells, in order."""
        return [cell for cell in self.cells if cell.is_code]

    @property
    def data(self) -> bytes:
        """The notebook as a file, as far as the engine reads it."""
        languages = {cell.language for cell in self.code}
        language = "python" if "python" in languages or not languages else min(languages)
        cells = [
            {"cell_type": "code" if cell.is_code else "markdown", "source": cell.text.content} for cell in self.cells
        ]
        return json.dumps({"cells": cells, "metadata": {"language_info": {"name": language}}}).encode()

    @property
    def uris(self) -> tuple[str, ...]:
        """The addresses under which findings are shown."""
        return tuple(cell.uri for cell in self.code)

    def cell_uri(self, cell: int | None) -> str:
        """Return the address under which a finding in the cell `cell`, or in none, is shown."""
        if cell is None or not self.cells:
            return next(iter(self.uris), self.uri)
        return self.cells[min(max(cell, 1), len(self.cells)) - 1].uri

    def part(self, uri: str) -> tuple[Text, int | None, int | None]:
        """Return the text shown under `uri`, its version, and the number of the cell that this is."""
        for number, cell in enumerate(self.cells, 1):
            if cell.uri == uri:
                return cell.text, cell.version, number
        return _EMPTY, None, None

    def spliced(self, start: int, removed: int, added: Iterable[Cell]) -> Notebook:
        """Return the notebook with `added` in the place of `removed` cells from `start` on; moved cells keep texts."""
        known = {cell.uri: cell for cell in self.cells}
        fresh = [replace(known[cell.uri], is_code=cell.is_code) if cell.uri in known else cell for cell in added]
        start = min(max(start, 0), len(self.cells))
        return replace(self, cells=(*self.cells[:start], *fresh, *self.cells[start + max(removed, 0) :]))

    def with_cell(self, uri: str, text: Text, version: int | None, language: str | None = None) -> Notebook:
        """Return the notebook with another text in the cell `uri`."""
        cells = (
            replace(cell, text=text, version=version, language=language or cell.language) if cell.uri == uri else cell
            for cell in self.cells
        )
        return replace(self, cells=tuple(cells))


Open = Document | Notebook
