"""Workflow commands of GitHub Actions, which show findings beside the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from modellint.diagnostic import Diagnostic, Severity
from modellint.report._model import Report
from modellint.sources import shown

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: Report) -> Iterator[str]:
    """Yield one command a finding."""
    for diagnostic in report.diagnostics:
        yield _command(diagnostic) + "\n"


def _command(diagnostic: Diagnostic) -> str:
    path = shown(Path(diagnostic.filename))
    start, end = diagnostic.span.start, diagnostic.span.end
    properties = {"title": f"modellint ({diagnostic.code})", "file": path}
    place = f"{path}:{start.row}:{start.column}"
    if diagnostic.cell is None:
        properties |= {"line": str(start.row), "col": str(start.column), "endLine": str(end.row)}
        if end.row == start.row:  # GitHub refuses columns over several lines
            properties["endColumn"] = str(end.column)
    else:  # a row of a cell is no row of the file
        place = f"{path}:cell {diagnostic.cell}:{start.row}:{start.column}"
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    text = f"{place}: {diagnostic.code} {diagnostic.message}"
    return f"::{_LEVELS[diagnostic.severity]} {listed}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
