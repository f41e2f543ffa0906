"""A folder of the workspace, or all files outside of any: its engine and what it covers. Used by one thread only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from modellint.catalog import DocumentError, Rule
from modellint.diagnostic import Diagnostic
from modellint.linting import Engine, FileReport, FixedFile, fix_file, prepare, refine
from modellint.linting.kept import Kept, kept_file, read_kept
from modellint.linting.tracing import configured
from modellint.runtime import Request
from modellint.server.lasting import lasting
from modellint.server.stamps import stamp
from modellint.settings import Overrides, Resolver, Settings, SettingsError
from modellint.sources import Read
from modellint.sources.discovery import DEFAULT_EXCLUDES, forget_ignores

ConfigurationError = (DocumentError, SettingsError)


class Folder:
    """What `modellint check` would do in `root`, kept ready; without `root`, what it would do with single files.

    `read` and `checkpoint` are those of an `Engine`.
    """

    def __init__(
        self, root: Path | None, overrides: Overrides, read: Read, checkpoint: Callable[[], None] = lambda: None
    ) -> None:
        self.root = root
        self.files: frozenset[Path] = frozenset()
        self._overrides = overrides
        self._read = read
        self._checkpoint = checkpoint
        self._resolver = Resolver(overrides)
        self._engine: Engine | None = None
        self._kept: dict[Path, tuple[int | None, Kept]] = {}

    def load(self, overrides: Overrides, singles: Iterable[Path] = ()) -> None:
        """Read configuration, rules and the list of files afresh; `singles` are the open files where there is no root.

        Raises one of `ConfigurationError`, and then all stays as it was.
        """
        forget_ignores()
        resolver = Resolver(overrides)
        if self.root is None:
            files = frozenset(singles)
            for path in files:
                resolver.for_folder(path.parent)
            engine = Engine(resolver, files, fixes=True, read=self._read, checkpoint=self._checkpoint, edited=True)
        else:
            resolver.for_folder(self.root)
            prepared = prepare(
                [self.root], resolver, fixes=True, read=self._read, checkpoint=self._checkpoint, edited=True
            )
            files, engine = frozenset(path for path, _ in prepared.files), prepared.engine
        self.files, self._engine, self._resolver, self._overrides = files, engine, resolver, overrides

    @property
    def sources(self) -> frozenset[Path]:
        """The configuration, rule and framework files that count here."""
        return frozenset(self._resolver.files)

    def covers(self, path: Path) -> bool:
        """Tell whether findings of `path` are shown: whether `check` would look at it, or will once it is saved."""
        if self.root is None or path in self.files:
            return True
        if path.exists():
            return False
        inside = path.relative_to(self.root).parts[:-1] if self.root in path.parents else ()
        return DEFAULT_EXCLUDES.isdisjoint(inside) and not self._resolver.for_folder(path.parent).excludes(path)

    def check(self, path: Path, data: bytes | None, *, fixes: bool = False) -> FileReport:
        """Check one file, which is read unless `data` is its content. Raises one of `ConfigurationError`."""
        if self._engine is None or not self.covers(path):
            return FileReport(path)
        report = self._engine.check(path, data, named=self.root is None, fixes=fixes)
        if fixes:
            self._engine.changed(path)  # trials left a text of their own behind
        return report

    def fix(self, path: Path, data: bytes) -> FixedFile | None:
        """Apply all safe fixes to `data`, the content of `path`; None where findings of it are not shown."""
        if self._engine is None or not self.covers(path):
            return None
        file = fix_file(self._engine, path, data, named=True, unsafe=False)
        self._engine.changed(path)
        return file

    def changed(self, path: Path) -> None:
        """Take notice that the content of `path` may be another one than it was."""
        if self._engine is not None:
            self._engine.changed(path)

    @property
    def project(self) -> Path:
        """The root of the project that the folder belongs to; its cache is there."""
        return self._resolver.project_root(self.root or Path.cwd())

    def models(self) -> tuple[Settings, list[Request]]:
        """Return the settings of the folder and the models that they name. Raises one of `ConfigurationError`."""
        settings = self._resolver.for_folder(self.root or Path.cwd())
        return settings, configured(settings)

    def traced(self, path: Path) -> tuple[Diagnostic, ...]:
        """Return what the last trace found in a file, as it is shown now. Raises one of `ConfigurationError`."""
        if self._engine is None or not self.covers(path):
            return ()
        settings, root = self._engine.group(path)
        written = stamp(kept_file(root))
        if root not in self._kept or self._kept[root][0] != written:
            self._kept[root] = written, read_kept(root)
        found = [d for d in lasting(self._kept[root][1], path, self._read) if d.code in settings.rules]
        return tuple(refine(found, settings, read=self._read)) if found else ()

    def hold(self, root: Path, kept: Kept) -> None:
        """Show what a trace in the project at `root` has found, whether or not its cache could be written."""
        self._kept[root] = stamp(kept_file(root)), kept

    def rule(self, path: Path, name: str) -> Rule | None:
        """Return the rule that the code or name means in the file `path`."""
        for rule in self._resolver.for_folder(path.parent).catalogue.values():
            if name.upper() == rule.code or name.lower() == rule.name:
                return rule
        return None
