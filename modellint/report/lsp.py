"""JSON lines for an editor bridge: for each file the parameters of `textDocument/publishDiagnostics`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from modellint.diagnostic import Diagnostic, Position, Severity, Span
from modellint.report._model import Report

FIXES = True

_SEVERITIES = {Severity.ERROR: 1, Severity.WARNING: 2, Severity.INFO: 3}
_UNNECESSARY = 1


def render(report: Report) -> Iterator[str]:
    """Yield one line a file; the empty list of a clean file clears what an editor still shows."""
    files: dict[str, list[Diagnostic]] = {}
    if report.unit == "file":
        files = {name: [] for name in report.checked}
    for diagnostic in report.diagnostics:
        files.setdefault(diagnostic.filename, []).append(diagnostic)
    for name, diagnostics in files.items():
        items = [lsp_diagnostic(diagnostic, report) for diagnostic in diagnostics]
        yield json.dumps({"uri": Path(name).as_uri(), "diagnostics": items}, default=str) + "\n"


def lsp_diagnostic(diagnostic: Diagnostic, report: Report, encoding: str = "utf-16") -> dict[str, Any]:
    """Return a finding as the protocol has it; columns count code units of `encoding`."""

    def extent(filename: str, span: Span, cell: int | None = None) -> dict[str, dict[str, int]]:
        return lsp_range(filename, span, report, cell, encoding)

    item: dict[str, Any] = {
        "range": extent(diagnostic.filename, diagnostic.span, diagnostic.cell),
        "severity": _SEVERITIES[diagnostic.severity],
        "code": diagnostic.code,
        "source": "modellint",
        "message": diagnostic.message,
        "data": {"name": diagnostic.name, "confidence": diagnostic.confidence.value},
    }
    if diagnostic.url:
        item["codeDescription"] = {"href": diagnostic.url}
    if diagnostic.code == "ML001":
        item["tags"] = [_UNNECESSARY]
    if diagnostic.related:
        item["relatedInformation"] = [
            {
                "location": {
                    "uri": Path(related.filename).as_uri(),
                    "range": extent(related.filename, Span(related.position, related.position), related.cell),
                },
                "message": related.message,
            }
            for related in diagnostic.related
        ]
    if diagnostic.cell is not None:  # rows count from this cell
        item["data"]["cell"] = diagnostic.cell
    if diagnostic.fix is not None:
        item["data"]["fix"] = {
            "applicability": diagnostic.fix.applicability.value,
            "title": diagnostic.fix.message,
            "edits": [
                {"range": extent(diagnostic.filename, e.span, e.cell), "newText": e.content}
                | ({} if e.cell == diagnostic.cell else {"cell": e.cell})
                for e in diagnostic.fix.edits
            ],
        }
    if diagnostic.runtime is not None:
        item["data"] |= {"target": diagnostic.runtime.target, "module_path": diagnostic.runtime.module_path}
    return item


def lsp_range(
    filename: str, span: Span, report: Report, cell: int | None = None, encoding: str = "utf-16"
) -> dict[str, dict[str, int]]:
    """Return a span of a file, or of its cell `cell`, as the protocol has it."""

    def position(place: Position) -> dict[str, int]:
        return {"line": place.row - 1, "character": report.units(filename, place, cell, encoding)}

    return {"start": position(span.start), "end": position(span.end)}
