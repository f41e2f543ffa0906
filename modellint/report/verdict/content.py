"""What the verdict says, as JSON data: the page shows this and nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from modellint import __version__
from modellint.catalog import ActiveRule
from modellint.diagnostic import Diagnostic, Severity, to_dict
from modellint.report.verdict.advice import advice
from modellint.runtime import TargetReport
from modellint.runtime.probes.names import PROBES
from modellint.runtime.probes.result import FAILED, PASSED, ProbeResult
from modellint.runtime.trace import Frame, Trace

VERSION = 1
"""Of the document's shape; it grows when a key changes its meaning."""
BROKEN, UNPROVED = "not traced", "nothing proved"


def content(
    reports: Sequence[TargetReport], diagnostics: Sequence[Diagnostic], rules: Mapping[str, ActiveRule]
) -> dict[str, Any]:
    """Return the document: a model each, in the order of `reports`.

    `diagnostics` are the findings that are shown, of all models together. Numbers that JSON does not have are the
    texts "inf", "-inf" and "nan".
    """
    found: dict[str, Any] = _plain(
        {
            "version": VERSION,
            "modellint": __version__,
            "models": [_model(report, diagnostics, rules) for report in reports],
        }
    )
    return found


def _model(report: TargetReport, diagnostics: Sequence[Diagnostic], rules: Mapping[str, ActiveRule]) -> dict[str, Any]:
    request, trace = report.request, report.trace
    root = (request.root or Path.cwd()).resolve()
    own = {(d.code, d.filename, d.message) for d in report.diagnostics}
    shown = [d for d in diagnostics if (d.code, d.filename, d.message) in own]
    results = trace.probes if trace is not None else ()
    return {
        "name": request.name or request.target,
        "target": request.target,
        "inputs": request.inputs,
        "mode": request.mode,
        "method": request.method or "forward",
        "verdict": _verdict(report, results, shown),
        "problem": report.problem,
        "notes": report.notes,
        "probes": [_probe(result, trace, root) for result in results if trace is not None],
        "findings": [{**to_dict(d), "place": _place(d.filename, d.span.start.row, root)} for d in shown],
        "next": list(advice(report, shown, rules)),
        "modules": _modules(trace, results, shown) if trace is not None else [],
        "environment": trace.environment if trace is not None else {},
    }


def _verdict(report: TargetReport, results: Sequence[ProbeResult], shown: Sequence[Diagnostic]) -> str:
    """Return the verdict on a whole model: one failed probe or one finding is enough to fail."""
    verdicts = {result.verdict for result in results}
    if FAILED in verdicts or any(d.severity is not Severity.INFO for d in shown if d.runtime and d.code != "ML003"):
        return FAILED
    if report.problem is not None:
        return BROKEN
    return PASSED if PASSED in verdicts else UNPROVED


def _probe(result: ProbeResult, trace: Trace, root: Path) -> dict[str, Any]:
    info = PROBES[result.probe]
    return {
        "probe": result.probe,
        "rule": info.code,
        "about": info.about,
        "verdict": result.verdict,
        "reason": result.reason,
        "cause": result.cause,
        "difference": result.metric,
        "tolerance": result.tolerance,
        "tolerance_from": result.tolerance_from,
        "forwards": result.forwards,
        "seconds": round(result.seconds, 3),
        "details": result.details,
        "culprits": [
            {
                "op": culprit.op,
                "module": culprit.module,
                "place": _site(trace, culprit.site, root),
                "why": culprit.why,
                "error_in": culprit.inherited,
                "error_out": culprit.own,
            }
            for culprit in result.culprits
        ],
        "layers": [
            {
                "layer": layer.layer,
                "type": layer.type,
                "error_in": layer.error_in,
                "error_out": layer.error_out,
                "verdict": layer.verdict,
            }
            for layer in result.layers
        ],
    }


def _site(trace: Trace, index: int | None, root: Path) -> str | None:
    """Return the user's own line where there is one: a line inside a library helps less."""
    site = trace.site(index)
    if site is None:
        return None
    frame: Frame = site.project or site.frame
    return _place(frame.filename, frame.row, root)


def _place(filename: str, row: int, root: Path) -> str:
    path = Path(filename)
    return f"{path.relative_to(root) if path.is_relative_to(root) else path}:{row}"


def _modules(trace: Trace, results: Sequence[ProbeResult], shown: Sequence[Diagnostic]) -> list[dict[str, Any]]:
    guilty: dict[str, list[str]] = {}
    for path, by in _accused(results, shown):
        if by not in guilty.setdefault(path, []):
            guilty[path].append(by)
    return [
        {
            "path": fact.path,
            "type": fact.type,
            "training": fact.training,
            "registered": fact.registered,
            "calls": fact.calls,
            "settings": fact.settings,
            "culprit_of": guilty.get(fact.path, []),
        }
        for fact in trace.modules
    ]


def _accused(results: Sequence[ProbeResult], shown: Sequence[Diagnostic]) -> Iterator[tuple[str, str]]:
    """Yield (module path, by whom): the probes whose culprit it holds and the codes of its findings."""
    for result in results:
        if result.verdict == FAILED:
            for culprit in result.culprits:
                yield culprit.module or "", f"probe {result.probe}"
    for diagnostic in shown:
        if diagnostic.runtime is not None and diagnostic.runtime.module_path is not None:
            yield diagnostic.runtime.module_path, diagnostic.code


def _plain(value: Any) -> Any:
    """Return `value` as strict JSON data."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, (str, int, float)) else str(value)
