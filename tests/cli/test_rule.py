"""`modellint rule`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from modellint.catalog import load_rules
from tests.cli.conftest import Run


def test_lists_every_rule(run: Run) -> None:
    outcome = run("rule")
    assert outcome.status == 0
    for rule in load_rules().values():
        assert f"  {rule.code}  {rule.name} " in outcome.out


@pytest.mark.parametrize("name", ["ML101", "ml101", "missing-eval"])
def test_explains_one(run: Run, name: str) -> None:
    rule = load_rules()["ML101"]
    out = run("rule", name).out
    assert out.startswith(f"ML101 missing-eval\n{rule.summary}\n")
    headings = ["What it does", "Why is this bad?", "Example", "Use instead", "Not reported", "References"]
    assert [line for line in out.splitlines() if line in headings] == headings
    for example in rule.examples:
        assert f"    {example.title}:" in out.splitlines()
        assert all(f"        {line}".rstrip() in out.splitlines() for line in example.code.splitlines())


def test_explains_all(run: Run) -> None:
    out = run("rule", "--all").out
    assert [line for line in out.splitlines() if line.startswith("ML")] == [
        f"{rule.code} {rule.name}" for rule in load_rules().values()
    ]


def test_json_holds_what_the_yaml_says(run: Run) -> None:
    item = json.loads(run("rule", "ML101", "--output-format", "json").out)
    rule = load_rules()["ML101"]
    assert (item["code"], item["severity"], item["why-is-this-bad"]) == ("ML101", "error", rule.why)
    assert [example["title"] for example in item["examples"]] == [example.title for example in rule.examples]
    every = json.loads(run("rule", "--all", "--output-format", "json").out)
    assert [item["code"] for item in every] == list(load_rules())


def test_rules_of_ones_own_are_among_them(run: Run, project: Path) -> None:
    text = load_rules()["ML101"].path.read_text("utf-8")
    ours = text.replace("code: ML101", "code: TEAM001").replace("name: missing-eval", "name: ours-alone", 1)
    (project / "ours.yaml").write_text(ours)
    (project / ".modellint.yaml").write_text("local-rules: [ours.yaml]\n")
    assert run("rule", "ours-alone").out.startswith("TEAM001 ours-alone\n")
    assert run("rule", "ours-alone", "--isolated").status == 2


def test_all_and_a_name_exclude_each_other(run: Run) -> None:
    assert run("rule", "--all", "ML101").status == 2
