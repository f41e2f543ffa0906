"""What a run found, kept for the next one: `.modellint_cache/` at the root of a project, a record for each language."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from modellint.diagnostic import Diagnostic
from modellint.linting.checkers import language_of
from modellint.linting.engine import Engine, FileReport
from modellint.linting.notes import Noted, Notes, is_recorded
from modellint.linting.python_record import PythonRecord
from modellint.linting.record import Record
from modellint.linting.rust_record import RustRecord
from modellint.linting.states import State
from modellint.linting.store import Store


class Records:
    """The records of a run over `files`, by settings and project."""

    def __init__(self, engine: Engine, files: list[Path], fixes: bool) -> None:
        self._engine = engine
        self._files = files
        self._fixes = fixes
        self._records: dict[tuple[int, Path, str], Record] = {}

    def _of(self, path: Path) -> Record | None:
        (settings, root), language = self._engine.group(path), language_of(path)
        if not is_recorded(settings):
            return None
        key = (id(settings), root, language)
        if key not in self._records:
            store = Store(root, settings, self._files, self._fixes, language)
            self._records[key] = RustRecord(root, store) if language == "rust" else PythonRecord(root, store)
        return self._records[key]

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
        for record, data in composed.items():  # only now: the first one written may add a folder to the project
            if data is not None:
                record.store.write(data)
