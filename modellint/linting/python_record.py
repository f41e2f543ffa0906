"""What a run found in Python files and notebooks, kept for the next one.

The findings of a file follow from more than its text: from files that it imports, that call it or that only mention a
name. So a record holds all that the run read and listed, and which file led to which other one. As long as it is all
the same, every finding holds. A changed file costs its own findings, and those of all files whose analysis led to it or
searched for a name that it now mentions, or no longer does; a file more or less costs all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from modellint.linting.links import Links
from modellint.linting.notes import Noted
from modellint.linting.record import Record
from modellint.linting.states import State, digest_of_names, is_overtaken, looked_at_again, state_of
from modellint.linting.store import Store
from modellint.sources import SourceError, read_source
from modellint.sources.projects import DECLARATIONS, python_files


class PythonRecord(Record):
    """The record of the Python files of the project at `root`. On the disk, names of files are numbers: `names`."""

    def __init__(self, root: Path, store: Store) -> None:
        self._states: dict[str, State] = {}
        self._folders: dict[str, str] = {}
        self._links = Links()
        self._changed = False
        super().__init__(root, store)

    def _take(self, data: dict[str, Any]) -> None:
        """Take over from a record what still holds."""
        names = data["names"]
        folders: dict[str, str] = data["folders"]
        if any(_names(folder) != known for folder, known in folders.items()) or (
            data["tree"] and digest_of_names(_files(self._root)) != data["tree"]
        ):
            return
        states: dict[str, State] = dict(zip(names, data["states"], strict=True))
        changed: dict[str, bytes] = {}
        for name, old in states.items():
            state, content = looked_at_again(name, old, data["taken"])
            if content is None:
                if old and not state:
                    return
                continue
            states[name] = state
            self._changed = True
            if not old or states[name][2] != old[2]:
                changed[name] = content
        if any(name.endswith(DECLARATIONS) for name in changed):
            return
        links = Links.unpacked(data["links"], names)
        void = links.follow(changed, {name: _table(Path(name), text) for name, text in changed.items()})
        self._states, self._folders, self._links = states, folders, links
        self._stored = {names[n]: found for n, found in data["findings"] if names[n] not in void}

    def compose(self, read: Mapping[str, State], noted: Iterable[Noted]) -> dict[str, Any] | None:
        """Return the record with what was added, None where there is nothing to keep or something to keep nothing for.

        What was read is kept in the state in which it was read. Of what was only looked for, the state is taken now: a
        place that has changed since the run began may have been seen as it was before.
        """
        fresh = {name: found for name, found in self._fresh.items() if name in read}
        if (not fresh and not self._changed) or self._is_homeless:
            return None
        links, folders = self._links, dict(self._folders)
        for project in noted:
            links = links.joined(project.links)
            folders.update((folder, _names(folder)) for folder in project.folders)
        states = {**self._states, **read}
        asked = {
            str(f / name) for path in fresh for f in _up_to(Path(path).parent, self._root) for name in DECLARATIONS
        }
        for name in sorted((links.files() | asked) - states.keys()):
            states[name] = state_of(Path(name))
        files = _files(self._root) if links.words else []
        places = {*folders, *states.keys() - self._states.keys() - read.keys()}
        places |= {str(self._root), *(os.path.dirname(name) for name in files)} if files else set()  # noqa: PTH120
        if any(is_overtaken(place, self._started) for place in places):
            return None
        number = {name: n for n, name in enumerate(states)}
        return {
            "taken": self._started,
            "names": list(states),
            "states": list(states.values()),
            "folders": folders,
            "links": links.packed(number),
            "tree": digest_of_names(files) if links.words else None,
            "findings": [[number[name], listed] for name, listed in self._together(fresh).items()],
        }


def _table(path: Path, data: bytes) -> str:
    """Return the digest of what looking up a name in a file goes by, an empty text where it is no program."""
    from modellint.static.project.scanning import scan
    from modellint.static.project.trees import parse_text

    try:
        source = read_source(path, data)
        module = scan(path, source.text, parse_text(source.text, path), {})
        module.cells, module.numbers = source.cells, source.numbers
        return module.table()
    except (SourceError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def _names(folder: str) -> str:
    """Return a digest of those names in a folder that an import can mean."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names alone
    except OSError:
        names = []
    kept = sorted(n for n in names if n.endswith(".py") or ("." not in n and n != "__pycache__"))
    return digest_of_names(kept)


def _files(root: Path) -> list[str]:
    """Return the names of the files in which callers are looked for."""
    return sorted(map(str, python_files(root)))


def _up_to(folder: Path, root: Path) -> Iterator[Path]:
    yield folder
    while folder != root and root in folder.parents:
        folder = folder.parent
        yield folder
