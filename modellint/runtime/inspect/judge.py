"""From findings to diagnostics: run the detectors of the active rules, merge what falls on one line, fill in words."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from modellint.catalog import ActiveRule
from modellint.diagnostic import Diagnostic, Position, Related, RuntimeDetails, Span
from modellint.runtime.inspect.autograd import autograd_recorded
from modellint.runtime.inspect.dropout import active_dropout
from modellint.runtime.inspect.finding import Finding, list_modules
from modellint.runtime.inspect.ladder import target_failed, untraceable
from modellint.runtime.inspect.mode_graph import mode_dependent_graph
from modellint.runtime.inspect.modes import mixed_mode, unreachable
from modellint.runtime.inspect.norms import batch_statistics
from modellint.runtime.inspect.probed import failed_probe
from modellint.runtime.inspect.randomness import random_draws
from modellint.runtime.probes.result import FROM_EVALUATION
from modellint.runtime.target import ARTEFACTS, Target
from modellint.runtime.trace import Failure, Frame, Site, Trace

Detector = Callable[[Trace, Mapping[str, Any]], Iterator[Finding]]
DETECTORS: Mapping[str, Detector] = {
    "active-dropout": active_dropout,
    "batch-statistics": batch_statistics,
    "random-draws": random_draws,
    "autograd-recorded": autograd_recorded,
    "mixed-mode": mixed_mode,
    "unreachable": unreachable,
    "mode-dependent-graph": mode_dependent_graph,
    "untraceable": untraceable,
    "failed-probe": failed_probe,
    "target-failed": target_failed,
}
"""What a rule's `detect.detector` may name."""
_ON_MODES = ("active-dropout", "batch-statistics", "mixed-mode")
"""Detectors whose findings are the worse the more the answer differs from the one in evaluation mode."""


def inspect_trace(trace: Trace, rules: Mapping[str, ActiveRule]) -> Iterator[Diagnostic]:
    """Yield the diagnostics of one trace, for the rules that run on traces."""
    found: list[tuple[Diagnostic, bool]] = []
    measured = {
        key: value for result in trace.probes for key, value in result.details.items() if key == FROM_EVALUATION
    }
    for active in rules.values():
        if active.rule.runs_on != "trace" or active.rule.detector not in DETECTORS:
            continue
        options = {**active.rule.detector_options, **active.options}
        merged: dict[tuple[str, int], list[Finding]] = {}
        evidence = measured if active.rule.detector in _ON_MODES else {}
        for finding in DETECTORS[active.rule.detector](trace, options):
            finding = replace(finding, evidence={**finding.evidence, **evidence})
            frame = finding.site.frame if finding.site is not None else trace.home
            merged.setdefault((frame.filename, frame.row), []).append(finding)
        for findings in merged.values():
            anywhere = not all(finding.explained_here for finding in findings)
            found.append((_diagnostic(findings, active, trace.target, trace.home), anywhere))
    diagnostics = [diagnostic for diagnostic, _ in found]
    yield from (_explained(diagnostic, diagnostics, anywhere) for diagnostic, anywhere in found)


def _explained(diagnostic: Diagnostic, others: Sequence[Diagnostic], anywhere: bool) -> Diagnostic:
    """Leave of the possible causes those that were found, at the same line or module unless `anywhere`."""
    runtime = diagnostic.runtime
    if runtime is None or not runtime.explained_by:
        return diagnostic
    codes = [
        other.code
        for other in others
        if other.code in runtime.explained_by
        and other is not diagnostic
        and (anywhere or _same_place(diagnostic, other, runtime))
    ]
    return replace(diagnostic, runtime=replace(runtime, explained_by=tuple(dict.fromkeys(codes))))


def _same_place(diagnostic: Diagnostic, other: Diagnostic, runtime: RuntimeDetails) -> bool:
    if (diagnostic.filename, diagnostic.span.start.row) == (other.filename, other.span.start.row):
        return True
    modules = other.runtime.evidence.get("modules", [other.runtime.module_path]) if other.runtime else []
    return bool(runtime.module_path) and runtime.module_path in modules


def inspect_failure(target: Target, failure: Failure, rules: Mapping[str, ActiveRule]) -> Iterator[Diagnostic]:
    """Yield the diagnostic of a target that could not be traced at all, where there is a file to put it in."""
    place = failure.frame or _defined(target)
    if place is None:
        return
    for active in rules.values():
        if active.rule.detector == "target-failed":
            finding = Finding(
                Site(place, failure.project), None, None, None, {"reason": failure.message}, {"kind": failure.kind}
            )
            yield _diagnostic([finding], active, target.text, place)


def _defined(target: Target) -> Frame | None:
    if target.file is None:
        return None
    if target.is_artefact:
        return Frame(str(target.file), 1, 1, None, "")
    name = target.name.split(".")[0]
    try:
        body = ast.parse(target.file.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        body = []
    for node in body:
        names = [getattr(node, "name", None)]
        if isinstance(node, ast.Assign):
            names = [getattr(item, "id", None) for item in node.targets]
        if name in names:
            return Frame(str(target.file), node.lineno, node.lineno, None, name)
    return Frame(str(target.file), 1, 1, None, "")


def _diagnostic(findings: list[Finding], active: ActiveRule, target: str, home: Frame) -> Diagnostic:
    first = max(findings, key=lambda finding: finding.confidence.rank)
    modules = list(dict.fromkeys(finding.module for finding in findings if finding.module is not None))
    frame = first.site.frame if first.site is not None else home
    words = {**first.words, "modules": list_modules(modules) if modules else "the model"}
    evidence = dict(first.evidence)
    if len(modules) > 1:
        evidence |= {"count": len(modules), "modules": modules}
    rule = active.rule
    return Diagnostic(
        code=rule.code,
        name=rule.name,
        severity=active.severity,
        confidence=min(first.confidence, rule.confidence, key=lambda confidence: confidence.rank),
        message=" ".join(rule.message.format_map(_Words(words)).split()),
        filename=frame.filename,
        span=span_of(frame),
        related=tuple(_related(first)),
        runtime=RuntimeDetails(target, first.module, first.module_type, first.node, evidence, first.explained_by),
    )


class _Words(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return ""


def _related(finding: Finding) -> Iterator[Related]:
    if finding.site is not None and (project := finding.site.project) is not None:
        yield Related(project.filename, span_of(project).start, "called from here")
    if finding.built is not None and (finding.site is None or finding.built.frame != finding.site.frame):
        yield Related(finding.built.frame.filename, span_of(finding.built.frame).start, "constructed here")


def span_of(frame: Frame) -> Span:
    """Return the span of a frame; the whole line, without its indentation, where columns are not known."""
    line = _line(frame.filename, frame.row)
    if frame.columns is None:
        text = line.strip()
        start = len(line) - len(line.lstrip()) + 1 if text else 1
        return Span.of(frame.row, start, frame.row, start + max(len(text), 1))
    last = _line(frame.filename, frame.end_row)
    start, end = (
        len(text.encode()[:column].decode(errors="replace")) + 1
        for text, column in ((line, frame.columns[0]), (last, frame.columns[1]))
    )
    return Span(Position(frame.row, start), Position(frame.end_row, end))


def _line(filename: str, row: int) -> str:
    lines = _lines(filename)
    return lines[row - 1] if 0 < row <= len(lines) else ""


@lru_cache(maxsize=64)
def _lines(filename: str) -> tuple[str, ...]:
    if filename.endswith(ARTEFACTS):  # large, and no text
        return ()
    try:
        return tuple(Path(filename).read_text(encoding="utf-8", errors="replace").splitlines())
    except OSError:
        return ()
