"""TOML with line numbers: `tomllib` gives the data, a small scanner the row of every key."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from modellint.catalog.document import Document, DocumentError, KeyPath, Problem, read_document

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]

_TOKEN = re.compile(
    r"""
      (?P<space>[ \t]+|\#[^\n]*)
    | (?P<newline>\r?\n)
    | (?P<string>\"{3}(?:\\.|[^\\])*?\"{3,5} | '{3}.*?'{3,5} | "(?:\\.|[^"\\\n])*" | '[^'\n]*')
    | (?P<mark>[\[\]{}=,.])
    | (?P<bare>[^\s\[\]{}=,.\#"']+)
    """,
    re.VERBOSE | re.DOTALL,
)


def load_toml(path: Path, text: str | None = None) -> Document:
    """Read the TOML file `path`; raise `DocumentError` where it cannot be read or is not TOML."""
    text = read_document(path) if text is None else text
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(error))
        row = int(place[1]) if place and place[1] else text.count("\n") + 1
        reason = str(error)[: place.start()] if place else str(error)
        raise DocumentError([Problem(path, row, "", f"is not valid TOML: {reason}")]) from None
    except RecursionError:
        raise DocumentError([Problem(path, 1, "", "is not valid TOML: nested too deeply")]) from None
    return Document(path, data, _Scanner(text).rows())


def sub_document(document: Document, *keys: str) -> Document:
    """Return the table `keys` of `document` as a document of its own, empty where there is none."""
    data: Any = document.data
    for key in keys:
        data = data.get(key, {}) if isinstance(data, dict) else {}
    size = len(keys)
    rows = {key[size:]: row for key, row in document.rows.items() if key[:size] == keys}
    return Document(document.path, data, rows)


class _Scanner:
    """Walks a text that `tomllib` has accepted, so that nothing has to be checked again."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str, int]] = []
        row = 1
        for match in _TOKEN.finditer(text):
            kind = match.lastgroup or ""
            if kind != "space":
                self._tokens.append((kind, match[0], row))
            row += match[0].count("\n")
        self._next = 0
        self._rows: dict[KeyPath, int] = {}
        self._counts: dict[KeyPath, int] = {}

    def rows(self) -> dict[KeyPath, int]:
        """Return the row of every key and of every element of a list."""
        table: KeyPath = ()
        while self._next < len(self._tokens):
            kind, text, row = self._tokens[self._next]
            if kind == "newline":
                self._next += 1
            elif text == "[":
                table = self._header(row)
            else:
                self._pair(table)
        return self._rows

    def _peek(self) -> str:
        return self._tokens[self._next][1] if self._next < len(self._tokens) else ""

    def _header(self, row: int) -> KeyPath:
        self._next += 1
        is_array = self._peek() == "["
        self._next += is_array
        key = self._key()
        self._next += 1 + is_array
        table = self._inside(key[:-1]) + key[-1:]
        if is_array:
            index = self._counts[table] = self._counts.get(table, -1) + 1
            self._rows.setdefault(table, row)
            table = (*table, index)
        self._note(table, row)
        return table

    def _inside(self, key: KeyPath) -> KeyPath:
        """Return `key` with the index of the current element behind each array of tables."""
        path: KeyPath = ()
        for part in key:
            path = (*path, part)
            if path in self._counts:
                path = (*path, self._counts[path])
        return path

    def _note(self, key: KeyPath, row: int) -> None:
        for size in range(1, len(key) + 1):
            self._rows.setdefault(key[:size], row)

    def _key(self) -> KeyPath:
        parts: list[str | int] = []
        while True:
            kind, text, _ = self._tokens[self._next]
            parts.append(_unquote(text) if kind == "string" else text)
            self._next += 1
            if self._peek() != ".":
                return tuple(parts)
            self._next += 1

    def _pair(self, table: KeyPath) -> None:
        row = self._tokens[self._next][2]
        key = table + self._key()
        self._note(key, row)
        self._next += 1  # =
        self._value(key)

    def _value(self, key: KeyPath) -> None:
        opening = self._peek()
        if opening not in ("[", "{"):
            while self._next < len(self._tokens) and not self._at_end_of_value():
                self._next += 1
            return
        self._next += 1
        index = 0
        while self._peek() not in ("]", "}"):
            kind, text, row = self._tokens[self._next]
            if kind == "newline" or text == ",":
                self._next += 1
            elif opening == "{":
                self._pair(key)
            else:
                self._rows.setdefault((*key, index), row)
                self._value((*key, index))
                index += 1
        self._next += 1

    def _at_end_of_value(self) -> bool:
        kind, text, _ = self._tokens[self._next]
        return kind == "newline" or text in (",", "]", "}")


def _unquote(text: str) -> str:
    return text[1:-1] if text.startswith("'") else str(tomllib.loads(f"key = {text}")["key"])
