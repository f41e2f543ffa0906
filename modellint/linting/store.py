"""The folder of records at the root of a project, and the file of one record."""

from __future__ import annotations

import dataclasses
import enum
import json
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from modellint._version import __version__
from modellint.catalog import Framework, Rule, rules_folder
from modellint.files import replace_file
from modellint.linting.states import digest
from modellint.settings import Settings

FOLDER = ".modellint_cache"
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of modellint.\n"
_KEPT = 16  # records of one project: other rules, other files


class Store:
    """The file of one record: that of a version, of settings, and of the files of a run in a project and a language."""

    def __init__(self, root: Path, settings: Settings, files: Iterable[Path], fixes: bool, language: str) -> None:
        key = [__version__, sys.version, str(root), fixes, language, _sources(), _plain(settings)]
        name = digest(json.dumps([*key, sorted(map(str, files))]).encode())
        self._file = root / FOLDER / f"{name}.json"

    def load(self) -> dict[str, Any] | None:
        """Return what was written; None if there is nothing, or damage."""
        try:
            data = json.loads(self._file.read_bytes())
            whole = data.pop("digest") == digest(json.dumps(data).encode())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return data if whole else None

    def write(self, data: Mapping[str, Any]) -> None:
        """Write a record; a folder that cannot be written is left alone."""
        with suppress(OSError, ValueError):
            prepare_folder(self._file.parent)
            body = json.dumps({**data, "digest": digest(json.dumps(data).encode())})
            replace_file(self._file, body.encode(), 0o644)


def prepare_folder(folder: Path) -> None:
    """Make sure that `folder` is a cache, and has room for one more record; raise `OSError` where that fails."""
    folder.mkdir(exist_ok=True)
    for name, text in (("CACHEDIR.TAG", _TAG), (".gitignore", "# Made by modellint.\n*\n")):
        if not (folder / name).exists():
            replace_file(folder / name, text.encode(), 0o644)
    records = sorted(folder.glob("[0-9a-f]*.json"), key=lambda path: path.stat().st_mtime_ns)
    for path in records[: -_KEPT + 1]:
        path.unlink(missing_ok=True)


def _sources() -> str:
    """Return a digest of this package's own files in a checkout, where they change without a new version."""
    package = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120 - hundreds of files
    if os.path.basename(os.path.dirname(package)) in ("site-packages", "dist-packages"):  # noqa: PTH119, PTH120
        return ""
    states: list[str] = []
    folders = [package]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    states.append(f"{entry.path} {status.st_size} {status.st_mtime_ns}")
                elif "." not in entry.name and entry.name != "__pycache__":
                    folders.append(entry.path)
    return digest("\n".join(sorted(states)).encode("utf-8", "surrogateescape"))


def _plain(value: Any) -> Any:
    """Return settings in a form that is the same in every process; what is shipped is known by its file."""
    if isinstance(value, Rule | Framework) and rules_folder() in value.path.parents:
        return _shipped(value.path)
    if dataclasses.is_dataclass(value):
        return [_plain(getattr(value, field.name)) for field in dataclasses.fields(value) if field.repr]
    if isinstance(value, Mapping):
        return [[_plain(key), _plain(inner)] for key, inner in value.items()]
    if isinstance(value, frozenset | set):
        return sorted(map(str, value))
    if isinstance(value, list | tuple):
        return list(map(_plain, value))
    if isinstance(value, enum.Enum):
        return value.value
    return value if isinstance(value, str | int | float | bool | None) else str(value)


@cache
def _shipped(path: Path) -> list[Any]:
    status = path.stat()
    return [str(path), status.st_size, status.st_mtime_ns]
