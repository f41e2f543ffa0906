"""Runs the examples of one rule: the marked lines are reported, and no other line."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from modellint.catalog import Example, Problem, Rule, load_rules, load_yaml
from modellint.catalog.document import Document, KeyPath
from modellint.diagnostic import Diagnostic
from modellint.linting.failures import CANNOT_PARSE
from modellint.linting.running import check_paths
from modellint.settings import Resolver


def prove(rule: Rule) -> Iterator[Problem]:
    """Yield what the examples of a rule on Python source show to be wrong, with the rows of the rule's file."""
    document = load_yaml(rule.path)
    for example in rule.cases:
        yield from _example_problems(document, rule, example)


def _example_problems(document: Document, rule: Rule, example: Example) -> Iterator[Problem]:
    if example.bad and rule.triggers:
        if not any(all(word in example.code for word in group) for group in rule.triggers):
            yield document.problem(
                ("triggers",), f"none of them is in the example {example.title!r}: it would be skipped"
            )
            return
    with tempfile.TemporaryDirectory() as folder:
        found, errors = _run(rule, example, Path(folder))
    for error in errors:
        yield document.problem(example.key, error)
    for place, message in example.disagreements(found) if not errors else ():
        yield _problem(document, example, place, message)


def _problem(document: Document, example: Example, place: tuple[str, int] | None, message: str) -> Problem:
    if place is None:
        return document.problem((*example.key, "says"), f"{example.title!r}: {message}")
    name, row = place
    text: KeyPath = (*example.key, "code") if (*example.key, "code") in document.rows else (*example.key, "files", name)
    where = f"line {row}" if len(example.files) == 1 else f"line {row} of {name}"
    shown = example.files[name].splitlines()[row - 1].strip()
    problem = document.problem(text, f"{example.title!r}, {where}: `{shown}` {message}")
    return Problem(problem.path, problem.row + row, problem.key, problem.message)


def _run(rule: Rule, example: Example, folder: Path) -> tuple[dict[tuple[str, int], Diagnostic], list[str]]:
    """Check an example as a project of its own, with `rule` alone; return {(file, row): finding}."""
    settings: dict[str, object] = {
        "select": [rule.code, CANNOT_PARSE],
        "rules": {rule.code: {"options": dict(example.options)}},
        "min-confidence": "possible",
    }
    shipped = load_rules().get(rule.code)
    if shipped is None or shipped.path.resolve() != rule.path.resolve():
        settings["local-rules"] = [str(rule.path.resolve())]
    (folder / ".modellint.yaml").write_text(json.dumps(settings), encoding="utf-8")
    for name, text in example.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    reports = list(check_paths([folder / example.check], Resolver()))
    found = {
        (Path(d.filename).resolve().relative_to(folder.resolve()).as_posix(), d.span.start.row): d
        for report in reports
        for d in report.diagnostics
        if d.code == rule.code
    }
    errors = [error for report in reports for error in report.errors]
    if rule.code != CANNOT_PARSE:  # an example that nobody can read is silent whatever the rule does
        unread = [d for report in reports for d in report.diagnostics if d.code == CANNOT_PARSE]
        errors += [f"{example.title!r}, line {d.span.start.row} of the code: {d.message}" for d in unread if not errors]
    return found, errors
