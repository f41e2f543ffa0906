"""One analyzer serves the Rust files of a run: file in, findings out."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from modellint.burn.backends import Backends
from modellint.burn.conduct import Conduct
from modellint.burn.context import Finding, RustContext, Spot
from modellint.burn.project import Project
from modellint.burn.syntax import broken_at
from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence, Diagnostic, Position, Related, Severity, Span
from modellint.sources import Read, SourceFile, from_disk

if TYPE_CHECKING:
    from tree_sitter import Node

Detector = Callable[[RustContext, ActiveRule], Iterator[Finding]]


@cache
def detector(name: str) -> Detector:
    """Return the detector that a rule's `detect.detector` names: one module of `modellint.burn.detectors`."""
    found: Detector = importlib.import_module(f"modellint.burn.detectors.{name.replace('-', '_')}").detect
    return found


class Analyzer:
    """Checks Rust files; what one file tells about another is worked out once; `read` gives the content of others."""

    def __init__(self, rules: Mapping[str, ActiveRule], read: Read = from_disk) -> None:
        self._rules = [rule for rule in rules.values() if rule.rule.runs_on == "rust"]
        self._unparsed = rules.get("ML002")
        self._read = read
        self._start()

    def _start(self) -> None:
        self._project = Project(self._read)
        self._conduct = Conduct(self._project)

    @property
    def project(self) -> Project:
        """The files that were read, and what was looked for."""
        return self._project

    def foresee(self, path: Path) -> None:
        """Gather nothing yet: a crate is read as a whole."""

    def changed(self, path: Path) -> None:
        """Take notice that the content of `path` may be another one: the files of a crate hang together."""
        if path.suffix in (".rs", ".toml", ".lock"):
            self._start()

    def _triggered(self, text: str) -> bool:
        """Tell whether the words of a rule are there."""
        return any(all(word in text for word in group) for rule in self._rules for group in rule.rule.triggers)

    def check(self, source: SourceFile) -> list[Diagnostic]:
        """Return the findings of one file in the order of the text.

        Raises `BurnMissing` without tree-sitter. A text that tree-sitter cannot read is checked as far as it goes, and
        an info says so: the compiler is the judge of Rust, and tree-sitter's grammar is behind it here and there.
        """
        carriers = self._project.carriers(source)
        if not (carriers.within(source.text) or self._triggered(source.text)):
            return []
        file = self._project.add(source)
        crate = self._project.crate(source.path)
        burn = crate.burn if crate is not None else None
        context = RustContext(file, self._project, Backends(self._project), self._conduct, carriers, burn)
        found = {
            _diagnostic(rule, finding)
            for rule in self._rules
            for finding in detector(rule.rule.detector)(context, rule)
        }
        self._project.forget(file)
        if self._unparsed is not None and (place := broken_at(file.tree)) is not None:
            found.add(_unparsed(self._unparsed, str(source.path), *place))
        return sorted(found, key=lambda d: d.sort_key)


def _diagnostic(rule: ActiveRule, finding: Finding) -> Diagnostic:
    ceiling = rule.rule.confidence
    confidence = finding.confidence if finding.confidence.rank <= ceiling.rank else Confidence(ceiling)
    node = finding.spot.node
    return Diagnostic(
        code=rule.rule.code,
        name=rule.rule.name,
        severity=rule.severity,
        confidence=confidence,
        message=rule.rule.message.format(**finding.names),
        filename=str(finding.spot.path),
        span=Span(_position(node, 0), _position(node, 1)),
        related=tuple(_related(spot, message) for spot, message in finding.related),
    )


def _unparsed(rule: ActiveRule, path: str, row: int, column: int) -> Diagnostic:
    message = rule.rule.message.format(
        parser="tree-sitter", reason="not Rust as its grammar knows it, only partly checked"
    )
    span = Span.of(row, column, row, column + 1)
    return Diagnostic(rule.rule.code, rule.rule.name, Severity.INFO, rule.rule.confidence, message, path, span)


def _related(spot: Spot, message: str) -> Related:
    return Related(str(spot.path), _position(spot.node, 0), message)


def _position(node: Node, end: int) -> Position:
    """Return where a node starts (0) or ends (1); tree-sitter counts bytes, a position code points."""
    row, column = (node.start_point, node.end_point)[end]
    root = node
    while root.parent is not None:
        root = root.parent
    data = root.text or b""
    offset = ((node.start_byte, node.end_byte)[end]) - root.start_byte
    line = data[offset - column : offset] if offset >= column else b""
    return Position(row + 1, len(line.decode(errors="replace")) + 1)
