"""Notebooks: the code cells of an `.ipynb` as one Python text, row for row."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from modellint.sources.legacy import read_as_today
from modellint.sources.python import SourceError, SourceFile, decode, error_in

# Cell magics whose cell is still Python, after IPython's documentation; all others hold something else.
_PYTHON_CELLS = {"capture", "debug", "ipytest", "prun", "python", "python3", "time", "timeit"}
_MAGIC = re.compile(r"\s*(?:[%!?]|[\w.]+\s*\?{1,2}\s*$)")
_ASSIGNED = re.compile(r"(\s*[\w.,\s\[\]'\"]+?=\s*)[%!](?!=)")
_HELP = re.compile(r"[^#'\"]*\?\s*$")
# IPython's "automagic": commands of a shell that need no sign in front, where no variable has that name.
_AUTOMAGIC = re.compile(
    r"(?:cd|ls|ll|mkdir|rm|rmdir|cp|mv|cat|pip|conda)\s+(?!(?:in|is|and|or|if|for)\b)(?:[\w./~]|--?\w)"
)
_AUTOCALL = re.compile(r"\s*[,;/]")
_TIMED = re.compile(r"(\s*)%time(\s+)(?=[\w(\[{*])")
# What moves the bracket depth or opens a string; longest alternatives first.
_LEXEME = re.compile(r"'''|\"\"\"|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|#.*|[\[({]|[\])}]")


def read_notebook(path: Path, data: bytes) -> SourceFile:
    """Return the notebook `data` as one Python text; raise `SourceError` if it is no notebook.

    A notebook of another language is empty: there is nothing in it to check.
    """
    try:
        notebook = json.loads(decode(data, "utf-8-sig"))
    except json.JSONDecodeError as error:
        raise SourceError(f"no notebook: {error.msg}", error.lineno, error.colno) from None
    except RecursionError:
        raise SourceError("no notebook: nested too deeply") from None
    if not isinstance(notebook, dict) or not isinstance(_cells(notebook), list):
        raise SourceError("no notebook: it has no list of cells")
    rows: list[str] = []
    starts: dict[int, int] = {}
    if _language(notebook) in ("python", ""):
        for number, cell in enumerate(_cells(notebook), 1):
            if isinstance(cell, dict) and cell.get("cell_type") == "code":
                starts[number] = len(rows) + 1
                rows += python_rows(_text(cell))
    text = "".join(f"{row}\n" for row in rows)
    return SourceFile(path, text, "notebook", tuple(starts.values()), tuple(starts))


def code_of(data: bytes) -> bytes:
    """Return the code cells of a notebook as they are written; nothing where `data` is no notebook."""
    try:
        cells = _cells(json.loads(decode(data, "utf-8-sig")))
    except (ValueError, RecursionError, AttributeError, TypeError):
        return b""
    if not isinstance(cells, list):
        return b""
    codes = [cell for cell in cells if isinstance(cell, dict) and cell.get("cell_type") == "code"]
    return "\n".join(map(_text, codes)).encode()


def without_broken_cells(source: SourceFile) -> tuple[SourceFile, list[SyntaxError]]:
    """Return a notebook without the cells that do not parse, and one error, with its row of `source`, for each.

    A cell that only an older Python reads is rewritten. Of a notebook most of whose cells do not parse, the first error
    tells enough; where most do not parse even so, it is none of this Python, and there are no errors.
    """
    rows = source.text.split("\n")
    errors: list[SyntaxError] = []
    dropped = 0
    for first, following in zip(source.cells, (*source.cells[1:], len(rows)), strict=True):
        cell = "\n".join(rows[first - 1 : following - 1])
        if (error := error_in(cell)) is not None:
            error.lineno = (error.lineno or 1) + first - 1
            errors.append(error)
            read = read_as_today(cell)
            dropped += read is None
            rows[first - 1 : following - 1] = [""] * (following - first) if read is None else read.split("\n")
    if 2 * dropped > len(source.cells):
        return source, []
    told = errors if 2 * len(errors) <= len(source.cells) else errors[:1]
    return dataclasses.replace(source, text="\n".join(rows)), told


def _cells(notebook: dict[str, Any]) -> Any:
    if "worksheets" in notebook and isinstance(notebook["worksheets"], list):  # format 3
        sheets = [sheet.get("cells") for sheet in notebook["worksheets"] if isinstance(sheet, dict)]
        return [cell for cells in sheets if isinstance(cells, list) for cell in cells]
    return notebook.get("cells")


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        entry = metadata.get(key) if isinstance(metadata, dict) else None
        if isinstance(entry, dict) and isinstance(entry.get(name), str):
            return str(entry[name]).lower()
    return ""


def _text(cell: dict[str, Any]) -> str:
    source = cell.get("source", cell.get("input", ""))
    text = "".join(map(str, source)) if isinstance(source, list) else str(source)
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")
    return text.encode(errors="replace").decode()  # JSON can spell half a character, Python cannot


def python_rows(text: str) -> list[str]:
    """Return the rows of a code cell; those that only IPython understands become `pass`, or empty."""
    rows = text.split("\n")
    first = next((row for row in rows if row.strip()), "")
    if first.startswith("%%"):
        name = re.match(r"%%(\w*)", first)
        if name is None or name[1] not in _PYTHON_CELLS:
            return [""] * len(rows)
    # as IPython does (leading_indent in IPython/core/inputtransformer2.py): what the first row begins with, all lose
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    return list(_without_magics([row.removeprefix(indent) for row in rows]))


def _without_magics(rows: list[str]) -> Iterator[str]:
    depth, quote, continued, magic = 0, "", False, False
    for row in rows:
        if magic:  # a magic goes on behind a backslash
            magic = row.endswith("\\")
            yield ""
            continue
        if not depth and not quote and not continued:
            indent = row[: len(row) - len(row.lstrip())]
            if row.lstrip().startswith("%%"):
                yield ""
                continue
            if match := _TIMED.match(row):  # runs the statement behind it, which keeps its column
                row = f"{match[1]}if 1:{' ' * len(match[2])}{row[match.end() :]}"
            elif _MAGIC.match(row) or _HELP.match(row) or _AUTOCALL.match(row) or _AUTOMAGIC.match(row):
                magic = row.endswith("\\")
                yield f"{indent}pass"
                continue
            elif match := _ASSIGNED.match(row):
                magic = row.endswith("\\")
                yield f"{match[1]}None"
                continue
        depth, quote = _scan(row, depth, quote)
        continued = row.endswith("\\")
        yield row


def _scan(row: str, depth: int, quote: str) -> tuple[int, str]:
    """Return bracket depth and open triple quote behind `row`."""
    position = 0
    while True:
        if quote:
            end = row.find(quote, position)
            if end < 0:
                return depth, quote
            position, quote = end + 3, ""
        match = _LEXEME.search(row, position)
        if match is None:
            return depth, ""
        position = match.end()
        if match[0] in ("'''", '"""'):
            quote = match[0]
        elif match[0] in "([{":
            depth += 1
        elif match[0] in ")]}":
            depth = max(0, depth - 1)
