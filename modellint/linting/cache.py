"""What a run found, kept for the next one: `.modellint_cache/` at the root of a project.

The findings of a file follow from more than its text: from files that it imports, that call it or that only mention a
name. So a record holds all that the run read and listed, and which file led to which other one. As long as it is all
the same, every finding holds. A changed file costs its own findings, and those of all files whose analysis led to it or
searched for a name that it now mentions, or no longer does; a file more or less costs all of them.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from modellint._version import __version__
from modellint.catalog import Framework, Rule, rules_folder
from modellint.diagnostic import Diagnostic
from modellint.files import replace_file
from modellint.linting.engine import Engine, FileReport, language_of
from modellint.linting.links import Links
from modellint.linting.stored import pack, unpack
from modellint.settings import Settings
from modellint.sources import SourceError, read_source
from modellint.sources.projects import is_shared, python_files

FOLDER = ".modellint_cache"
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of modellint.\n"
_RACY = 2_000_000_000  # nanoseconds; a file that young may change once more without another time of change
_TICK = 10_000_000  # nanoseconds; a change may bear a time that much too early
_KEPT = 16  # records of one project: other rules, other files
_DECLARATIONS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "environment.yml")
State = list[Any]
"""Size, time of change in nanoseconds and digest of a file; empty where there is none."""


class Reads:
    """Reads files, and remembers in which state."""

    def __init__(self) -> None:
        self.states: dict[str, State] = {}
        self.torn = False  # whether a file had two contents in one run

    def __call__(self, path: Path) -> bytes:
        """Return the content of `path`; raises `OSError`."""
        status = path.stat()  # first: what is written after this is noticed
        data = path.read_bytes()
        state: State = [status.st_size, status.st_mtime_ns, _digest(data)]
        self.torn |= self.states.setdefault(str(path), state)[2] != state[2]
        return data


@dataclass(frozen=True, slots=True)
class Noted:
    """What the findings of one project follow from, by the names of files: see `modellint.linting.engine.Consulted`."""

    links: Links = field(default_factory=Links)
    folders: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Notes:
    """What one process has read for its findings: the states of files, `torn` if one had two contents.

    `projects` go by one of the files that the process has checked there.
    """

    states: Mapping[str, State] = field(default_factory=dict)
    torn: bool = False
    projects: tuple[tuple[Path, Noted], ...] = ()


def take_notes(engine: Engine, checked: Iterable[Path]) -> Notes:
    """Return what an engine that reads through `Reads` has read for the findings of the files `checked`."""
    assert isinstance(engine.read, Reads)
    firsts: dict[tuple[int, Path], Path] = {}
    for path in checked:
        settings, root = engine.group(path)
        if is_recorded(path, settings):
            firsts.setdefault((id(settings), root), path)
    projects = []
    for path in firsts.values():
        consulted = engine.consulted(*engine.group(path))
        projects.append((path, Noted(Links.of(consulted), frozenset(map(str, consulted.folders)))))
    return Notes(engine.read.states, engine.read.torn, tuple(projects))


def is_recorded(path: Path, settings: Settings) -> bool:
    """Tell whether findings are kept: what those of Rust files, and all with `deep`, depend on lies anywhere."""
    return not settings.deep and language_of(path) == "python"


class Records:
    """The records of a run over `files`, by settings and project."""

    def __init__(self, engine: Engine, files: list[Path], fixes: bool) -> None:
        self._engine = engine
        self._files = files
        self._fixes = fixes
        self._records: dict[tuple[int, Path], Record] = {}

    def _of(self, path: Path) -> Record | None:
        settings, root = self._engine.group(path)
        if not is_recorded(path, settings):
            return None
        if (id(settings), root) not in self._records:
            self._records[id(settings), root] = Record(root, settings, self._files, self._fixes)
        return self._records[id(settings), root]

    def findings(self, path: Path) -> tuple[Diagnostic, ...] | None:
        """Return what is known of a file, None where it has to be checked."""
        record = self._of(path)
        return None if record is None else record.findings(path)

    def add(self, report: FileReport) -> None:
        """Take in what a check has found."""
        record = self._of(report.path)
        if record is not None and not report.errors and not report.notes:
            record.add(report.path, report.diagnostics)

    def save(self, notes: Iterable[Notes]) -> None:
        """Write what was added; `notes` are what was read for it. A file with two contents in one run spoils it."""
        states: dict[str, State] = {}
        noted: dict[Record, list[Noted]] = {}
        for one in notes:
            if one.torn or any(states.setdefault(name, state)[2] != state[2] for name, state in one.states.items()):
                return
            for path, project in one.projects:
                if (record := self._of(path)) is not None:
                    noted.setdefault(record, []).append(project)
        composed = {record: record.compose(states, noted.get(record, [])) for record in self._records.values()}
        for record, body in composed.items():  # only now: the first one written may add a folder to the project
            if body is not None:
                record.write(body)


class Record:
    """The record of one set of settings and files in the project at `root`.

    On the disk, names of files are numbers: `names` lists them.
    """

    def __init__(self, root: Path, settings: Settings, files: Iterable[Path], fixes: bool) -> None:
        self._root = root
        key = [__version__, sys.version, str(root), fixes, _sources(), _plain(settings), sorted(map(str, files))]
        self._file = root / FOLDER / f"{_digest(json.dumps(key).encode())}.json"
        self._started = time.time_ns()
        self._fresh: dict[str, list[Diagnostic]] = {}
        self._stored: dict[str, Any] = {}
        self._states: dict[str, State] = {}
        self._folders: dict[str, str] = {}
        self._links = Links()
        self._changed = False
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):  # damaged: a cold run
            data = json.loads(self._file.read_bytes())
            if data.pop("digest") == _digest(json.dumps(data).encode()):
                self._take(data)

    def _take(self, data: dict[str, Any]) -> None:
        """Take over from a record what still holds."""
        names = data["names"]
        folders: dict[str, str] = data["folders"]
        if any(_names(folder) != known for folder, known in folders.items()) or (
            data["tree"] and _listed(_files(self._root)) != data["tree"]
        ):
            return
        states: dict[str, State] = dict(zip(names, data["states"], strict=True))
        changed: dict[str, bytes] = {}
        for name, old in states.items():
            try:
                status = os.stat(name)  # noqa: PTH116 - hundreds of them
                state = [status.st_size, status.st_mtime_ns]
                if state == old[:2] and status.st_mtime_ns < data["taken"] - _RACY:
                    continue
                content = Path(name).read_bytes()
            except OSError:
                if old:
                    return
                continue
            states[name] = [*state, _digest(content)]
            self._changed = True
            if not old or states[name][2] != old[2]:
                changed[name] = content
        if any(name.endswith(_DECLARATIONS) for name in changed):
            return
        links = Links.unpacked(data["links"], names)
        void = links.follow(changed, {name: _table(Path(name), text) for name, text in changed.items()})
        self._states, self._folders, self._links = states, folders, links
        self._stored = {names[n]: found for n, found in data["findings"] if names[n] not in void}

    def findings(self, path: Path) -> tuple[Diagnostic, ...] | None:
        """Return what is known of a file, None where it has to be checked."""
        if str(path) not in self._stored:
            return None
        try:
            return tuple(map(unpack, self._stored[str(path)]))
        except (ValueError, TypeError, KeyError):
            return None

    def add(self, path: Path, diagnostics: Iterable[Diagnostic]) -> None:
        """Take in what a check of `path` has found."""
        self._fresh[str(path)] = list(diagnostics)

    def compose(self, read: Mapping[str, State], noted: Iterable[Noted]) -> bytes | None:
        """Return the record with what was added, None where there is nothing to keep or something to keep nothing for.

        What was read is kept in the state in which it was read. Of what was only looked for, the state is taken now: a
        place that has changed since the run began may have been seen as it was before.
        """
        fresh = {name: found for name, found in self._fresh.items() if name in read}
        if (not fresh and not self._changed) or is_shared(self._root):
            return None
        links, folders = self._links, dict(self._folders)
        for project in noted:
            links = links.joined(project.links)
            folders.update((folder, _names(folder)) for folder in project.folders)
        states = {**self._states, **read}
        asked = {
            str(f / name) for path in fresh for f in _up_to(Path(path).parent, self._root) for name in _DECLARATIONS
        }
        for name in sorted((links.files() | asked) - states.keys()):
            states[name] = _state(Path(name))
        files = _files(self._root) if links.words else []
        places = {*folders, *states.keys() - self._states.keys() - read.keys()}
        places |= {str(self._root), *(os.path.dirname(name) for name in files)} if files else set()  # noqa: PTH120
        if any(map(self._is_overtaken, places)):
            return None
        number = {name: n for n, name in enumerate(states)}
        found = {**self._stored, **{name: list(map(pack, found)) for name, found in fresh.items()}}
        data = {
            "taken": self._started,
            "names": list(states),
            "states": list(states.values()),
            "folders": folders,
            "links": links.packed(number),
            "tree": _listed(files) if links.words else None,
            "findings": [[number[name], listed] for name, listed in found.items()],
        }
        return json.dumps({**data, "digest": _digest(json.dumps(data).encode())}).encode()

    def _is_overtaken(self, name: str) -> bool:
        """Tell whether a file or folder has changed since the run began; clocks of file systems tick slowly."""
        try:
            changed = os.stat(name).st_mtime_ns  # noqa: PTH116 - hundreds of them
        except OSError:
            return False
        return self._started - _TICK <= changed <= time.time_ns()

    def write(self, body: bytes) -> None:
        """Write a record; a folder that cannot be written is left alone."""
        with suppress(OSError, ValueError):
            prepare_folder(self._file.parent)
            replace_file(self._file, body, 0o644)


def prepare_folder(folder: Path) -> None:
    """Make sure that `folder` is a cache, and has room for one more record; raise `OSError` where that fails."""
    folder.mkdir(exist_ok=True)
    for name, text in (("CACHEDIR.TAG", _TAG), (".gitignore", "# Made by modellint.\n*\n")):
        if not (folder / name).exists():
            replace_file(folder / name, text.encode(), 0o644)
    records = sorted(folder.glob("[0-9a-f]*.json"), key=lambda path: path.stat().st_mtime_ns)
    for path in records[: -_KEPT + 1]:
        path.unlink(missing_ok=True)


def _table(path: Path, data: bytes) -> str:
    """Return the digest of what looking up a name in a file goes by, an empty text where it is no program."""
    from modellint.static.project.facts import scan
    from modellint.static.project.trees import parse_text

    try:
        source = read_source(path, data)
        return scan(path, source.text, parse_text(source.text, path)).table()
    except (SourceError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def _state(path: Path) -> State:
    try:
        status = path.stat()
        return [status.st_size, status.st_mtime_ns, _digest(path.read_bytes())]
    except OSError:
        return []


def _names(folder: str) -> str:
    """Return a digest of those names in a folder that an import can mean."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names alone
    except OSError:
        names = []
    kept = sorted(n for n in names if n.endswith(".py") or ("." not in n and n != "__pycache__"))
    return _digest("\n".join(kept).encode("utf-8", "surrogateescape"))


def _files(root: Path) -> list[str]:
    """Return the names of the files in which callers are looked for."""
    return sorted(map(str, python_files(root)))


def _listed(names: list[str]) -> str:
    return _digest("\n".join(names).encode("utf-8", "surrogateescape"))


def _up_to(folder: Path, root: Path) -> Iterator[Path]:
    yield folder
    while folder != root and root in folder.parents:
        folder = folder.parent
        yield folder


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
    return _digest("\n".join(sorted(states)).encode("utf-8", "surrogateescape"))


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


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
