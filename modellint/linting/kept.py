"""The findings of the last `modellint trace`, kept in the project's cache for those who show them in its files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from modellint.diagnostic import Diagnostic
from modellint.files import replace_file
from modellint.linting.store import FOLDER, prepare_folder
from modellint.linting.stored import pack, unpack
from modellint.sources import SourceError, read_source
from modellint.sources.projects import is_shared

NAME = "trace.json"  # no name of a record: those are digests
_LARGEST = 1_000_000  # bytes of a file whose text is kept


@dataclass(frozen=True, slots=True)
class Kept:
    """What a run found, and the `texts` in which it found that, by file name.

    A file without a text was changed while the models ran, or is no text.
    """

    findings: tuple[Diagnostic, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)


def take(findings: Iterable[Diagnostic], started: int) -> Kept:
    """Return `findings` with the texts of the files that they name; the run began at `started`, in `time.time_ns`."""
    found = tuple(findings)
    names = {name for d in found for name in (d.filename, *(place.filename for place in d.related))}
    return Kept(found, {name: text for name in sorted(names) if (text := _text(Path(name), started)) is not None})


def kept_file(root: Path) -> Path:
    """Return where the findings of the project at `root` are kept."""
    return root / FOLDER / NAME


def is_kept(path: Path) -> bool:
    """Tell whether findings are kept in `path`."""
    return path.name == NAME and path.parent.name == FOLDER


def keep(root: Path, kept: Kept) -> None:
    """Write `kept` into the cache of the project at `root`; a folder that cannot be written is left alone."""
    if is_shared(root):
        return
    data = {"findings": list(map(pack, kept.findings)), "texts": dict(kept.texts)}
    with suppress(OSError, ValueError, TypeError):  # evidence that is no JSON, a disk that is full
        body = json.dumps(data).encode()
        prepare_folder(root / FOLDER)
        replace_file(kept_file(root), body, 0o644)


def read_kept(root: Path) -> Kept:
    """Return what the last run in the project at `root` has kept; nothing where there is none, or it is damaged."""
    try:
        data = json.loads(kept_file(root).read_bytes())
        texts = {str(name): str(text) for name, text in data["texts"].items()}
        return Kept(tuple(map(unpack, data["findings"])), texts)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Kept()


def _text(path: Path, started: int) -> str | None:
    try:
        status = path.stat()
        if status.st_mtime_ns > started or status.st_size > _LARGEST:
            return None
        return read_source(path).text
    except (OSError, SourceError, ValueError):
        return None
