"""Small projects whose lines say what is to be found: a trailing `# ML101`, `# ML201:info`, or several with commas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from modellint.catalog import ActiveRule, load_frameworks, load_rules
from modellint.diagnostic import Confidence, Diagnostic
from modellint.sources import read_source
from modellint.static import Analyzer

Place = tuple[str, int, str]
Lint = Callable[..., list[Diagnostic]]
_MARK = re.compile(r"#\s*((?:ML\d{3}(?::\w+)?)(?:\s*,\s*ML\d{3}(?::\w+)?)*)\s*$")
DEFAULT_FILE = "app.py"


def write(root: Path, files: Mapping[str, str]) -> list[Path]:
    """Write `files` (name to text, indented as one likes) below `root`; return their paths."""
    paths = []
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        paths.append(path)
    return paths


def marks(files: Mapping[str, str]) -> dict[Place, str | None]:
    """Return {(file, row, code): severity or None} of the lines that carry a mark."""
    found: dict[Place, str | None] = {}
    for name, text in files.items():
        for row, line in enumerate(dedent(text).splitlines(), 1):
            if match := _MARK.search(line):
                for word in match[1].split(","):
                    code, _, severity = word.strip().partition(":")
                    found[name, row, code] = severity or None
    return found


def analyzer(root: Path, checked: Iterable[Path] | None = None, rules: Iterable[str] | None = None) -> Analyzer:
    """Return an analyzer of the project at `root` with the shipped rules named, or all that are on by default."""
    shipped = load_rules()
    codes = [code for code, rule in shipped.items() if rule.enabled] if rules is None else rules
    active = {code: ActiveRule.default(shipped[code]) for code in codes}
    return Analyzer(active, load_frameworks(), root, frozenset(checked or ()).__contains__)


@pytest.fixture
def lint(tmp_path: Path) -> Lint:
    """Return a function that writes a project, checks it, and fails unless the marked lines are found, and no other.

    Called with the text of one file or with {name: text}. `check` names the files that are checked (default: all),
    `rules` the codes that run, `possible` counts findings of that confidence too, which are hidden by default.
    Returns the findings.
    """

    def run(
        files: str | Mapping[str, str],
        *,
        check: Iterable[str] | None = None,
        rules: Iterable[str] | None = None,
        possible: bool = False,
    ) -> list[Diagnostic]:
        project = {DEFAULT_FILE: files} if isinstance(files, str) else dict(files)
        root = tmp_path / "project"
        paths = write(root, project)
        wanted = set(project) if check is None else set(check)
        checked = [path for path in paths if path.relative_to(root).as_posix() in wanted]
        subject = analyzer(root, checked, rules)
        found = [d for path in checked for d in subject.check(read_source(path))]
        if len(checked) > 1:  # whichever process checks a file, and whatever it has checked before
            alone = [d for path in checked for d in analyzer(root, checked, rules).check(read_source(path))]
            assert alone == found
        shown = [d for d in found if possible or d.confidence is not Confidence.POSSIBLE]
        marked = {place: severity for place, severity in marks(project).items() if place[0] in wanted}
        got = {_place(d, root): d for d in shown}
        missed = [_line(project, place) for place in marked if place not in got]
        false = [f"{_line(project, place)}\n    {d.message}" for place, d in got.items() if place not in marked]
        assert (missed, false) == ([], []), "\n".join(["missed:", *missed, "false alarms:", *false])
        severities = {place: got[place].severity.value for place, severity in marked.items() if severity}
        assert severities == {place: severity for place, severity in marked.items() if severity}
        return shown

    return run


def _place(diagnostic: Diagnostic, root: Path) -> Place:
    name = Path(diagnostic.filename).relative_to(root).as_posix()
    return name, diagnostic.span.start.row, diagnostic.code


def _line(project: Mapping[str, str], place: Place) -> str:
    name, row, code = place
    return f"{name}:{row}: {code}: {dedent(project[name]).splitlines()[row - 1].strip()}"
