"""Small Cargo projects whose marked lines (`// ML501`, `// ML503:info`) are reported, and no other line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from modellint.linting import check_paths
from modellint.settings import Overrides, Resolver

Lint = Callable[[Mapping[str, str]], None]
_MARK = re.compile(r"//\s*(?P<code>ML\d{3})(?::(?P<severity>\w+))?")


def marked(files: Mapping[str, str]) -> set[tuple[str, int, str]]:
    """Return (file, row, code) of every mark."""
    return {
        (name, row, match["code"])
        for name, text in files.items()
        for row, line in enumerate(text.splitlines(), 1)
        for match in _MARK.finditer(line)
    }


@pytest.fixture
def lint(tmp_path: Path) -> Lint:
    """Write a project and compare the findings of all its files with the marks."""

    def run(files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        reports = list(check_paths([tmp_path], Resolver(Overrides(isolated=True))))
        assert [error for report in reports for error in report.errors] == []
        found = {
            (Path(d.filename).relative_to(tmp_path).as_posix(), d.span.start.row, d.code)
            for report in reports
            for d in report.diagnostics
        }
        assert found == marked(files)

    return run
