"""Configuration files that were found right: kept by their content, since YAML and a schema cost more than a run."""

from __future__ import annotations

import json
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from modellint._version import __version__
from modellint.catalog.document import Document
from modellint.files import replace_file, user_cache

_KEPT = 64  # configuration files of one user


def known(path: Path, text: str, schema: Path) -> Document | None:
    """Return the document `path` if `text`, which was read from it, is one that was found to be right, else None."""
    store = _store(path)
    with suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(store.read_bytes()) if store is not None else {}
        if kept["stamp"] == _stamp(path, text, schema):
            return Document(path, kept["data"], {tuple(key): row for key, row in kept["rows"]})
    return None


def keep(document: Document, text: str, schema: Path) -> None:
    """Keep a document in which nothing is wrong; one with data that JSON cannot say is read again each time.

    `text` is what the document was made of: the file may hold something else by now.
    """
    store = _store(document.path)
    if store is None:
        return
    with suppress(OSError, ValueError, TypeError):
        rows = [[list(key), row] for key, row in document.rows.items()]
        kept: dict[str, Any] = {"stamp": _stamp(document.path, text, schema), "data": document.data, "rows": rows}
        body = json.dumps(kept, separators=(",", ":"))
        if json.loads(body)["data"] == document.data:
            store.parent.mkdir(parents=True, exist_ok=True)
            others = sorted(store.parent.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)
            for file in others[: -_KEPT + 1]:
                file.unlink(missing_ok=True)
            replace_file(store, body.encode(), 0o600)


def _store(path: Path) -> Path | None:
    folder = user_cache()
    name = f"{zlib.crc32(str(path).encode('utf-8', 'surrogateescape')):08x}.json"
    return None if folder is None else folder / "settings" / name


def _stamp(path: Path, text: str, schema: Path) -> list[Any]:
    """Return what a document and what judges it are known by."""
    judges = (schema, schema.parent / "toml.py", schema.parent.parent / "catalog" / "document.py")
    states = [[file.stat().st_size, file.stat().st_mtime_ns] for file in judges]
    return [__version__, str(path), *states, text]
