"""SARIF 2.1.0 (OASIS), which code scanning services read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from modellint import __version__
from modellint.diagnostic import Diagnostic, Position, Severity, Span
from modellint.report._model import Report
from modellint.sources import shown

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"


def render(report: Report) -> Iterator[str]:
    """Yield one SARIF log with one run."""
    rules: dict[str, dict[str, Any]] = {}
    for diagnostic in report.diagnostics:
        rules.setdefault(diagnostic.code, _rule(diagnostic))
    order = {code: index for index, code in enumerate(rules)}
    driver = {"name": "modellint", "version": __version__, "rules": list(rules.values())}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(diagnostic, order[diagnostic.code]) for diagnostic in report.diagnostics],
    }
    yield json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(diagnostic: Diagnostic) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": diagnostic.code, "name": diagnostic.name}
    return rule | ({"helpUri": diagnostic.url} if diagnostic.url else {})


def _result(diagnostic: Diagnostic, index: int) -> dict[str, Any]:
    text = diagnostic.message
    if diagnostic.cell is not None:  # SARIF knows no cells, and a row of a cell is no row of the file
        text = f"cell {diagnostic.cell}, row {diagnostic.span.start.row}: {text}"
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": index,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": text},
        "locations": [_location(diagnostic.filename, None if diagnostic.cell is not None else diagnostic.span)],
        "properties": {"confidence": diagnostic.confidence.value},
    }
    if diagnostic.related:
        result["relatedLocations"] = [
            _location(related.filename, related.position) | {"id": number, "message": {"text": related.message}}
            for number, related in enumerate(diagnostic.related)
        ]
    return result


def _location(filename: str, place: Span | Position | None) -> dict[str, Any]:
    uri = quote(shown(Path(filename)).replace("\\", "/"), errors="surrogateescape")
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if isinstance(place, Position):
        physical["region"] = {"startLine": place.row, "startColumn": place.column}
    elif place is not None:
        start, end = place.start, place.end
        region = {"startLine": start.row, "startColumn": start.column, "endLine": end.row, "endColumn": end.column}
        physical["region"] = region
    return {"physicalLocation": physical}
