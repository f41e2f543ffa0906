"""One file: prefilter, analysis, suppression, fixes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from modellint.diagnostic import Diagnostic
from modellint.linting.refining import into_cells, visible
from modellint.linting.suppressing import suppress, unused
from modellint.settings import Overrides, Resolver, Settings
from modellint.sources import Prefilter, Read, SourceError, SourceFile, from_disk, read_source, shown
from modellint.sources.suppressions import find_suppressions, has_suppressions

if TYPE_CHECKING:
    from modellint.static.project.trails import Trails
from modellint.linting.checkers import Checker, MakeChecker, go_on, language_of, make_analyzer, make_burn_analyzer
from modellint.linting.failures import cannot_parse, internal_error

_CARGO = Path()  # in the place of a project's root: which packages belong together, Cargo knows
# One of them is in every Rust file that has to do with Burn: its names, or type arguments that other files explain.
_RUST_ROOTS = ("burn", "Tensor", "Backend", "utodiff", "ad_enabled", "::<")


@dataclass(frozen=True, slots=True)
class FileReport:
    """What came out for one path.

    `errors` are what kept modellint from doing its work (exit status 2), `notes` what a walk left out; both
    are sentences that name the file. `source` is there where the file has findings. `parsed` is false
    for a text that is not the language that it should be.
    """

    path: Path
    diagnostics: tuple[Diagnostic, ...] = ()
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    source: SourceFile | None = None
    parsed: bool = True


@dataclass(frozen=True, slots=True)
class Consulted:
    """What the findings of a project may follow from, beside the files that were checked.

    `trails` tell which file led to which other one. `folders` are those whose names were looked up, `words` the names
    that were searched for, with the files that hold them, `tables` digests of what names the files define, by path.
    """

    trails: Sequence[Trails]
    folders: Set[Path]
    words: Mapping[str, tuple[Path, ...]]
    tables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Surveyed:
    """What the findings in Rust files may follow from, beside these files.

    `files` were read or looked for, all Rust files below `folders` were, and `patterns` were looked up in folders.
    """

    files: frozenset[Path] = frozenset()
    folders: frozenset[Path] = frozenset()
    patterns: frozenset[tuple[Path, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Plan:
    """What another process needs to build an engine like one that there is; parameters as those of `Engine`."""

    overrides: Overrides
    checked: frozenset[Path]
    tops: tuple[Path, ...]
    fixes: bool


class Engine:
    """Holds one checker for each pair of settings and project root; `tops` are the folders that a run was given.

    With `fixes`, other sets of checkers prove them: what these are shown never counts for other files. `read` gives the
    content of files, for a run in which an editor's is newer than the disk's. `checkpoint` is called now and then while
    a file is checked: it ends a check by raising a `BaseException` that is no `Exception`. `alone`: a file is judged
    without its callers in other files.
    """

    def __init__(
        self,
        resolver: Resolver,
        checked: frozenset[Path],
        tops: Iterable[Path] = (),
        *,
        make_checker: MakeChecker | None = None,
        fixes: bool = False,
        read: Read = from_disk,
        checkpoint: Callable[[], None] = go_on,
        edited: bool = False,
        alone: bool = False,
    ) -> None:
        ways = [(checked, False)]
        if make_checker is None:
            # many fixes can be proved without the callers of their file, which are the larger part of an analysis, and
            # what a fix does to other files is told in its own where these are not checked
            ways += [(checked, True), (frozenset(), False)]
        self._trials = [
            Engine(resolver, shown, tops, make_checker=make_checker, read=read, edited=lone, alone=lone)
            for shown, lone in ways
            if fixes
        ]
        self._resolver = resolver
        self._make_checker = make_checker or partial(
            make_analyzer, read=read, checkpoint=checkpoint, edited=edited, alone=alone
        )
        self.read = read
        self._checked = checked
        self._tops = tuple(sorted(tops))
        self._checkers: dict[tuple[int, Path], Checker] = {}
        self._prefilters: dict[tuple[int, str], Prefilter] = {}
        self._told_of_rust = False
        self._unseen: set[Path] = set()  # what changed since this engine last proved a fix for another one

    @classmethod
    def following(cls, plan: Plan, read: Read) -> Engine:
        """Return an engine like the one whose plan it is."""
        return cls(Resolver(plan.overrides), plan.checked, plan.tops, fixes=plan.fixes, read=read)

    @property
    def plan(self) -> Plan:
        """What builds an engine like this one, but for `read` and what it was given to make checkers."""
        return Plan(self._resolver.overrides, self._checked, self._tops, bool(self._trials))

    def screen(self, path: Path, named: bool) -> FileReport | int:
        """Return the report of a file that needs no analysis, else how many bytes there are to analyse."""
        settings = self._resolver.for_folder(path.parent)
        data = self._content(path, settings, named)
        if isinstance(data, FileReport):
            return data
        if self._wants(path, data, settings):
            return len(data)
        return self._screened_out(path, data, settings, fixes=True)

    def foresee(self, paths: Iterable[Path]) -> None:
        """Gather the facts of Python files that will be checked."""
        for path in paths:
            if language_of(path) == "python":
                settings = self._resolver.for_folder(path.parent)
                self._checker(path, settings).foresee(path)

    def changed(self, path: Path) -> None:
        """Take notice that the content of `path` may be another one than it was: findings of other files may follow."""
        for checker in self._checkers.values():
            checker.changed(path)
        for trial in self._trials:
            trial._unseen.add(path)

    def check(self, path: Path, data: bytes | None, named: bool, *, fixes: bool = True) -> FileReport:
        """Check one file, which is read unless `data` is its content; `named` if the user asked for just this.

        Without `fixes`, findings come as they are although this engine could repair them.
        """
        settings = self._resolver.for_folder(path.parent)
        content = self._content(path, settings, named) if data is None else data
        if isinstance(content, FileReport):
            return content
        if self._wants(path, content, settings):
            return self._analyse(path, content, settings, named, fixes)
        return self._screened_out(path, content, settings, fixes)

    def recheck(self, path: Path, data: bytes) -> tuple[Diagnostic, ...] | None:
        """Return the findings of a file as it would be with another content; None where it could not be checked."""
        while self._unseen:
            changed = self._unseen.pop()
            for checker in self._checkers.values():
                checker.changed(changed)
        report = self.check(path, data, named=True)
        return None if report.errors else report.diagnostics

    def _content(self, path: Path, settings: Settings, named: bool) -> bytes | FileReport:
        """Return what a file holds, or the report of one that cannot be read."""
        try:
            return self.read(path)
        except OSError as error:
            problem = f"cannot be read: {error.strerror or error}"
            if named:
                return FileReport(path, errors=(f"{shown(path)}: {problem}",))
            return FileReport(path, tuple(visible(cannot_parse(path, settings, problem), path, settings)))

    def _wants(self, path: Path, data: bytes, settings: Settings) -> bool:
        """Tell whether a rule could find anything in a file with this content."""
        return self._prefilter(settings, language_of(path)).wants(data)

    def _prefilter(self, settings: Settings, language: str) -> Prefilter:
        key = (id(settings), language)
        if key not in self._prefilters:
            roots = [root for framework in settings.frameworks for root in framework.roots]
            roots += [root for active in settings.rules.values() for root in active.rule.roots]
            kinds = (language, "any") if language == "python" else (language,)
            rules = [active.rule for active in settings.rules.values() if active.rule.runs_on in kinds]
            # ML001 is about comments, and those are looked for apart from the rest
            triggers = [rule.triggers for rule in rules if rule.detector != "unused-suppression"]
            if language == "python":
                self._prefilters[key] = Prefilter(roots, triggers)
            else:  # a name of another file may carry the word that a rule waits for: its analyzer looks
                self._prefilters[key] = Prefilter(_RUST_ROOTS, [[]])
        return self._prefilters[key]

    def group(self, path: Path) -> tuple[Settings, Path]:
        """Return the settings and the project root of a Python file: such files share a checker."""
        return self._resolver.for_folder(path.parent), self._resolver.project_root(path.parent, self._tops)

    def consulted(self, settings: Settings, root: Path) -> Consulted:
        """Return what the checkers of a group have read so far beside the files that they were given."""
        key = (id(settings), root)
        engines = [*self._trials, self]  # what a trial was shown is not on the disk
        projects = [getattr(engine._checkers.get(key), "project", None) for engine in engines]
        folders: set[Path] = set()
        tables: dict[str, str] = {}
        for project in projects:
            if project is not None:
                folders.update(project.paths.folders)
                tables.update(project.files.tables())
        trails = [project.trails for project in projects if project is not None]
        asked = {word for trail in trails for word in (*trail.askers, *trail.judges)}
        last = projects[-1]
        words = {} if last is None else {word: last.files.holders(word) for word in asked}
        return Consulted(trails, folders, words, tables)

    def surveyed(self, settings: Settings) -> Surveyed:
        """Return what the checker of Rust files has looked at so far."""
        project = getattr(self._checkers.get((id(settings), _CARGO)), "project", None)
        if project is None:
            return Surveyed()
        return Surveyed(project.looked_at, project.folders, project.patterns)

    def _checker(self, path: Path, settings: Settings) -> Checker:
        if language_of(path) == "rust":
            key = (id(settings), _CARGO)
            if key not in self._checkers:
                self._checkers[key] = make_burn_analyzer(settings, self.read)
            return self._checkers[key]
        key = (id(settings), self.group(path)[1])
        if key not in self._checkers:
            self._checkers[key] = self._make_checker(settings, key[1], self._is_analysed)
        return self._checkers[key]

    def _is_analysed(self, path: Path) -> bool:
        """Tell whether a file gets a report in which rules have a say: one that is screened out tells of nothing."""
        if path not in self._checked:
            return False
        try:
            data = self.read(path)
        except OSError:
            return False
        return self._wants(path, data, self._resolver.for_folder(path.parent))

    def _findings(self, source: SourceFile, settings: Settings) -> list[Diagnostic]:
        """Return the raw findings of a file, and of one that cannot be parsed as it is those of what can be read of it.

        Raises `SyntaxError` if it does not parse.
        """
        checker = self._checker(source.path, settings)
        try:
            return checker.check(source)
        except SyntaxError:
            from modellint.sources.readable import readable_part

            readable, errors = readable_part(source)
            if not errors:
                raise
        found = [cannot_parse(source.path, settings, e.msg, e.lineno or 1, e.offset or 1) for e in errors]
        return [diagnostic for group in found for diagnostic in group] + checker.check(readable)

    def _analyse(self, path: Path, data: bytes, settings: Settings, named: bool, fixes: bool) -> FileReport:
        source = SourceFile(path, "")
        parsed = True
        errors: tuple[str, ...] = ()
        try:
            source = read_source(path, data)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what Python thinks of the user's string escapes
                found = self._findings(source, settings)
        except SourceError as error:
            parsed = False
            found = cannot_parse(path, settings, error.message, error.row, error.column)
        except SyntaxError as error:
            parsed = False
            found = cannot_parse(path, settings, error.msg, error.lineno or 1, error.offset or 1)
        except Exception as error:
            if isinstance(error, ImportError) and source.kind == "rust":
                return self._without_tree_sitter(path, error, named)
            # a crash of ours costs this file, not the run
            parsed = False
            found = []
            if isinstance(error, RecursionError | MemoryError):
                found = cannot_parse(path, settings, "nested too deeply")
            else:
                errors = (internal_error(path, error),)
        suppressions = find_suppressions(source.text, rust=source.kind == "rust")
        found, used = suppress(found, suppressions)
        if parsed:
            found += unused(path, suppressions, used, settings, language_of(path))
        return replace(self._report(found, source, settings, errors, data if fixes else None), parsed=parsed)

    def _without_tree_sitter(self, path: Path, error: ImportError, named: bool) -> FileReport:
        """Say once what a walk over Rust files lacks; a file that the user asked for could not be checked."""
        if named:
            return FileReport(path, errors=(f"{shown(path)}: {error}",))
        notes = () if self._told_of_rust else (f"{shown(path)}: {error}; Rust files are left out",)
        self._told_of_rust = True
        return FileReport(path, notes=notes)

    def _screened_out(self, path: Path, data: bytes, settings: Settings, fixes: bool) -> FileReport:
        """Report the unused comments of a file in which no rule can find anything."""
        if not has_suppressions(data):
            return FileReport(path)
        try:
            source = read_source(path, data)
        except SourceError:
            return FileReport(path)
        suppressions = find_suppressions(source.text, rust=source.kind == "rust")
        found = list(unused(path, suppressions, set(), settings, language_of(path)))
        return self._report(found, source, settings, (), data if fixes else None)

    def _report(
        self,
        found: list[Diagnostic],
        source: SourceFile,
        settings: Settings,
        errors: tuple[str, ...],
        data: bytes | None,
    ) -> FileReport:
        """Return what is shown of `found`, with fixes where `data` is the content that they would change."""
        trials = self._trials if data is not None else []
        left = visible(found, source.path, settings)
        if trials and left:
            from modellint.fixing import FixerCrash, propose

            try:
                left = propose(source, left, settings.catalogue)
            except FixerCrash as error:
                errors = (*errors, internal_error(source.path, error, "the file has no fixes"))
        left = sorted((into_cells(diagnostic, source, self.read) for diagnostic in left), key=lambda d: d.sort_key)
        if trials and data is not None and any(diagnostic.fix for diagnostic in left):
            from modellint.linting.repairing import View, proved

            recheck, *others = [partial(trial.recheck, source.path) for trial in trials]
            nobody_asked = not getattr(self._checker(source.path, settings), "asked_others", True)
            known = (left if nobody_asked else None, left if self._checked <= {source.path} else None)
            views = [View(other, data, found) for other, found in zip(others, known, strict=False)]
            left = proved(left, source, data, recheck, *views)
        return FileReport(source.path, tuple(left), errors, source=source if left else None)
