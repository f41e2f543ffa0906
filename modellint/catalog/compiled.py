"""What the YAML files of the catalogue say, checked once and kept as JSON: YAML and its schema cost more than a run."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from modellint._version import __version__
from modellint.files import replace_file, user_cache

_HERE = Path(__file__).resolve().parent


def compiled(kind: str, paths: Sequence[Path], read: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return what `read` returns, the data of the files `paths`, without calling it where that is known already.

    It is known as long as no file, and none of the modules and schemas that judge them, has another size or time of
    change. What is kept stands in the user's cache folder; where that cannot be read or written, `read` is called.
    """
    store = _store(kind, paths)
    try:
        stamp = [__version__, _HERE.as_posix(), *map(_state, (*paths, *sorted(_HERE.glob("*.py"))))]
        stamp += map(_state, sorted((_HERE / "schemas").iterdir()))
    except OSError:  # a file is gone: to be told by who reads it
        return read()
    if store is not None:
        with suppress(OSError, ValueError, KeyError, TypeError):
            known = json.loads(store.read_bytes())
            if known["stamp"] == stamp:
                entries: list[dict[str, Any]] = known["entries"]
                return entries
    entries = read()
    if store is not None:
        _keep(store, stamp, entries)
    return entries


def _state(path: Path) -> list[Any]:
    status = path.stat()
    return [path.as_posix(), status.st_size, status.st_mtime_ns]


def _store(kind: str, paths: Sequence[Path]) -> Path | None:
    """Return where the data of these files is kept: every installation has a place of its own."""
    folder = user_cache()
    if folder is None or not paths:
        return None
    place = zlib.crc32(f"{__version__} {_HERE} {paths[0].parent}".encode("utf-8", "surrogateescape"))
    return folder / f"{kind}-{place:08x}.json"


def _keep(store: Path, stamp: list[Any], entries: list[dict[str, Any]]) -> None:
    with suppress(OSError, TypeError, ValueError):  # what JSON cannot say is read again each time
        data = json.dumps({"stamp": stamp, "entries": entries}, separators=(",", ":"))
        if json.loads(data)["entries"] == entries:
            store.parent.mkdir(parents=True, exist_ok=True)
            replace_file(store, data.encode(), 0o644)
