"""One JSON array with an object for each finding, in the shape of ruff's."""

from __future__ import annotations

import json
from collections.abc import Iterator

from modellint.diagnostic import to_dict
from modellint.report._model import Report

FIXES = True


def render(report: Report) -> Iterator[str]:
    """Yield the array; one object a line keeps it readable and easy to compare."""
    yield "["
    for number, diagnostic in enumerate(report.diagnostics):
        item = json.dumps(to_dict(diagnostic), ensure_ascii=True, default=str)
        yield ("," if number else "") + "\n  " + item
    yield "\n]\n" if report.diagnostics else "]\n"
