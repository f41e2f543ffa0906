"""What a record is: findings of a project that are known, and how they become known."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from modellint.diagnostic import Diagnostic
from modellint.linting.notes import Noted
from modellint.linting.states import State
from modellint.linting.store import Store
from modellint.linting.stored import pack, unpack
from modellint.sources.projects import is_shared


class Record(ABC):
    """The record of the files of one language in the project at `root`; `store` is where it is kept.

    `_take` takes over what still holds of what was kept: it sets `_stored`, the findings by file.
    """

    def __init__(self, root: Path, store: Store) -> None:
        self.store = store
        self._root = root
        self._started = time.time_ns()
        self._fresh: dict[str, list[Diagnostic]] = {}
        self._stored: dict[str, Any] = {}
        if (data := store.load()) is not None:
            with suppress(ValueError, KeyError, TypeError, AttributeError, IndexError):  # of a shape that nobody writes
                self._take(data)

    @abstractmethod
    def _take(self, data: dict[str, Any]) -> None: ...

    @abstractmethod
    def compose(self, read: Mapping[str, State], noted: Iterable[Noted]) -> dict[str, Any] | None:
        """Return what to write, None where there is nothing to keep or something to keep nothing for.

        `read` are the files that were read, in the state in which they were, `noted` is what was looked for.
        """

    def findings(self, path: Path) -> tuple[Diagnostic, ...] | None:
        """Return what is known of a file, None where it has to be checked."""
        try:
            return tuple(map(unpack, self._stored[str(path)]))
        except (KeyError, ValueError, TypeError):
            return None

    def add(self, path: Path, diagnostics: Iterable[Diagnostic]) -> None:
        """Take in what a check of `path` has found."""
        self._fresh[str(path)] = list(diagnostics)

    @property
    def _is_homeless(self) -> bool:
        """Whether the folder is one that holds everything, where nothing is kept."""
        return is_shared(self._root)

    def _together(self, fresh: Mapping[str, Iterable[Diagnostic]]) -> dict[str, Any]:
        """Return what was known with what is new, in the form that is kept."""
        return {**self._stored, **{name: list(map(pack, found)) for name, found in fresh.items()}}
