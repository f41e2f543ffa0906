"""Every example of every rule that reads source: the marked lines are reported, and no other line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from modellint.catalog import Example, Rule, load_rules
from modellint.linting import check_paths
from modellint.settings import Resolver

RULES = [rule for rule in load_rules().values() if rule.runs_on in ("python", "rust", "any")]


def examples() -> Iterator[object]:
    for rule in RULES:
        for example in sorted(rule.cases, key=lambda example: example.bad):
            kind = "finding" if example.bad else "silent"
            yield pytest.param(rule, example, id=f"{rule.code}-{kind}-{example.title}")


def configuration(rule: Rule, example: Example) -> dict[str, object]:
    """Return a configuration in which `rule` runs alone; what runs on anything depends on the other rules."""
    settings: dict[str, object] = {
        "rules": {rule.code: {"options": dict(example.options)}},
        "min-confidence": "possible",
    }
    return settings | ({"select": [rule.code]} if rule.runs_on != "any" else {"extend-select": [rule.code]})


@pytest.mark.parametrize(("rule", "example"), list(examples()))
def test_exactly_the_marked_lines_are_reported(rule: Rule, example: Example, tmp_path: Path) -> None:
    for name, text in example.files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / ".modellint.yaml").write_text(json.dumps(configuration(rule, example)), encoding="utf-8")

    reports = list(check_paths([tmp_path / example.check], Resolver()))

    assert [error for report in reports for error in report.errors] == []
    assert all(report.parsed for report in reports) or rule.code == "ML002"
    found = {
        (Path(d.filename).relative_to(tmp_path).as_posix(), d.span.start.row): d
        for report in reports
        for d in report.diagnostics
        if d.code == rule.code
    }
    assert list(example.disagreements(found)) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_file_without_the_rules_words_would_not_be_missed(rule: Rule) -> None:
    """Each firing example holds a group of the rule's trigger words, or the prefilter would hide it."""
    for example in rule.cases:
        if example.bad and rule.triggers:
            assert any(all(word in example.code for word in group) for group in rule.triggers), example.title


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_as_many_examples_are_silent_as_fire(rule: Rule) -> None:
    firing = sum(example.bad for example in rule.cases)
    assert len(rule.cases) - firing >= firing
