"""One analyzer serves a project: file in, findings out."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from modellint.catalog import ActiveRule, Framework
from modellint.diagnostic import Confidence, Diagnostic, Position, Related, Span
from modellint.sources import Read, SourceFile, from_disk
from modellint.static.classes import Classes
from modellint.static.context import Analyses, FileContext, Finding
from modellint.static.flow.values import Site
from modellint.static.knowledge import Knowledge
from modellint.static.project import ModuleInfo, Project
from modellint.static.undisturbed import undisturbed

if TYPE_CHECKING:
    from modellint.static.flow.earlier import Memories
    from modellint.static.project.deep import Deep

Detector: TypeAlias = Callable[[FileContext, ActiveRule], Iterator[Finding]]
_DEEP = 200  # levels of a tree; a level takes some thirty frames at most


class RuleCrash(Exception):
    """A rule failed on a file: a defect of modellint, told with its name."""

    def __init__(self, code: str, path: Path, error: BaseException) -> None:
        super().__init__(f"{path}: rule {code} crashed: {type(error).__name__}: {error}")
        self.code = code
        self.path = path


@cache
def detector(name: str) -> Detector:
    """Return the detector that a rule's `detect` names: one module of `modellint.static.detectors`."""
    module = importlib.import_module(f"modellint.static.detectors.{name.replace('-', '_')}")
    found: Detector = module.detect
    return found


def nowhere(path: Path) -> bool:
    """Tell that a file is not checked."""
    return False


class Analyzer:
    """Checks the Python files of the project below `root`; `is_checked` tells whether findings in a file are reported.

    What is wrong between two files is reported in one that is checked. With `deep`, names are followed into the
    packages that are installed. `read` gives the content of other files. `checkpoint` is called between two rules: what
    it raises ends a check that nobody wants any more. `edited`: files will be checked again and again with small
    changes, and what these leave as it was is not worked out again. `alone`: callers in other files have no say.
    `asked_others` tells after a check whether some had.
    """

    def __init__(
        self,
        rules: Mapping[str, ActiveRule],
        frameworks: Sequence[Framework],
        root: Path,
        is_checked: Callable[[Path], bool] = nowhere,
        deep: bool = False,
        read: Read = from_disk,
        checkpoint: Callable[[], None] = lambda: None,
        edited: bool = False,
        alone: bool = False,
    ) -> None:
        self._alone = alone
        self._checkpoint = checkpoint
        self._rules = [rule for rule in rules.values() if rule.rule.runs_on == "python"]
        self._knowledge = Knowledge(frameworks)
        self._project = Project(root, (lambda: self._found_deep) if deep else None, read)
        self._is_checked = is_checked
        self._memories = self._found_memories() if edited and not deep else None
        self.asked_others = False
        self._forget()

    def _found_memories(self) -> Memories:
        from modellint.static.flow.earlier import Memories  # for an editor alone

        return Memories(self._project)

    @property
    def project(self) -> Project:
        """The files that were read, and what was asked about them."""
        return self._project

    @cached_property
    def _found_deep(self) -> Deep:
        from modellint.static.project.deep import Deep

        return Deep(self._knowledge.roots)

    def _forget(self) -> None:
        """Start afresh with everything that was worked out from the text of files."""
        self._version = self._project.files.version
        self._classes = Classes(self._project, self._knowledge)
        if self._memories is not None:
            self._memories.follow()
        self._analyses = Analyses(
            self._project, self._classes, self._knowledge, self._is_checked, self._memories, self._alone
        )

    def changed(self, path: Path) -> None:
        """Take notice that the content of `path` may be another one than it was."""
        self._project.files.changed(path)

    def foresee(self, path: Path) -> None:
        """Gather the facts of a file that will be checked: what other files ask about."""
        undisturbed(partial(self._project.files.module, path))

    def check(self, source: SourceFile) -> list[Diagnostic]:
        """Return the findings of one file, in the order of the text.

        Raises `SyntaxError` if it does not parse, `RecursionError` or `MemoryError` if it is nested too deeply to be
        followed, and `RuleCrash` where a rule failed.
        """
        return undisturbed(partial(self._check, source))

    def _check(self, source: SourceFile) -> list[Diagnostic]:
        module = self._project.files.add(source)
        if self._project.files.version != self._version:
            self._forget()
        self._project.files.trim(module)
        context = self._analyses.context(module)
        lines = source.text.splitlines()
        found: list[Diagnostic] = []
        context.resolver.touched = set()
        for rule in self._rules:
            self._checkpoint()
            try:
                found += [
                    _diagnostic(rule, finding, lines, source)
                    for finding in detector(rule.rule.detector)(context, rule)
                    if finding.site.path == str(source.path)
                ]
            except Exception as error:
                if isinstance(error, MemoryError | RecursionError) and _is_deep(module):
                    raise  # the text is to blame
                raise RuleCrash(rule.rule.code, source.path, error) from error
        self._project.trails.trace(source.path, context.resolver.touched)
        self.asked_others = context.asked_others
        return sorted(dict.fromkeys(found), key=lambda d: d.sort_key)


def _is_deep(module: ModuleInfo) -> bool:
    """Tell whether the code of a file is nested so deeply that the interpreter can run out of stack on it."""
    level: list[ast.AST] = [*module.body.body]
    for _ in range(_DEEP):
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
    return bool(level)


def _diagnostic(rule: ActiveRule, finding: Finding, lines: list[str], source: SourceFile) -> Diagnostic:
    site = finding.site
    # a finding cannot be surer than its rule
    ceiling = rule.rule.confidence
    confidence = finding.confidence if finding.confidence.rank <= ceiling.rank else Confidence(ceiling)
    severity = rule.severity
    if finding.severity is not None and finding.severity.rank < severity.rank:
        severity = finding.severity
    message = finding.message or rule.rule.message.format_map(finding.details)
    return Diagnostic(
        code=rule.rule.code,
        name=rule.rule.name,
        severity=severity,
        confidence=confidence,
        message=message,
        filename=site.path,
        span=Span.of(
            site.row,
            _column(lines, site.row, site.column),
            site.end_row,
            _column(lines, site.end_row, site.end_column),
        ),
        related=tuple(_related(place, text, lines, source) for place, text in finding.related if place != site),
        subject=finding.details.get("model"),
    )


def _column(lines: list[str], row: int, offset: int) -> int:
    """Turn the byte offset that `ast` counts into a 1-based column of code points."""
    if row > len(lines) or lines[row - 1].isascii():
        return offset + 1
    return len(lines[row - 1].encode()[:offset].decode(errors="replace")) + 1


def _related(site: Site, message: str, lines: list[str], source: SourceFile) -> Related:
    same = site.path == str(source.path)
    column = _column(lines, site.row, site.column) if same else site.column + 1
    return Related(site.path, Position(site.row, column), message)
