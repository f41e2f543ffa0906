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
    assert [example["title"] for example in item["edge-cases"]] == [e.title for e in rule.page.edge_cases]
    every = json.loads(run("rule", "--all", "--output-format", "json").out)
    assert [item["code"] for item in every] == list(load_rules())


def test_json_shows_what_detects_it(run: Run) -> None:
    item = json.loads(run("rule", "ML307", "--output-format", "json").out)
    assert item["detect"]["detector"] == "loader-option"
    assert item["detect"]["options"]["arguments"] == {"drop_last": 8}
    item = json.loads(run("rule", "ML403", "--output-format", "json").out)
    assert [pattern["call"] for pattern in item["detect"]["patterns"]] == [["torch.load"], ["torch.load"]]


def test_rules_of_ones_own_are_among_them(run: Run, project: Path) -> None:
    text = load_rules()["ML101"].path.read_text("utf-8")
    ours = text.replace("code: ML101", "code: TEAM001").replace("name: missing-eval", "name: ours-alone", 1)
    (project / "ours.yaml").write_text(ours)
    (project / ".modellint.yaml").write_text("local-rules: [ours.yaml]\n")
    assert run("rule", "ours-alone").out.startswith("TEAM001 ours-alone\n")
    assert run("rule", "ours-alone", "--isolated").status == 2


def test_all_and_a_name_exclude_each_other(run: Run) -> None:
    assert run("rule", "--all", "ML101").status == 2


# -- rules of one's own -----------------------------------------------------------------------------------------

OURS = """\
code: ACME001
name: house-load
family: local
severity: error
summary: A rule of the house.
message: "`{call}` found"
what-it-does: It finds.
why-is-this-bad: It is.
runs-on: python
triggers: [fetch]
detect:
  pattern:
    call: [acme.hub.fetch]
examples:
  good:
    - title: Another
      code: |
        from acme import hub
        import torch

        hub.look("fetch")
  bad:
    - title: Here
      code: |
        from acme import hub
        import torch

        hub.fetch("x")  # finding
"""


def test_a_right_rule_is_said_to_be_right(run: Run, project: Path) -> None:
    (project / "ours.yaml").write_text(OURS)
    outcome = run("rule", "--check", "ours.yaml")
    assert (outcome.status, outcome.out) == (0, "ours.yaml: ACME001 house-load: 2 examples, all as marked\n")


def test_a_rule_that_the_configuration_names_is_no_duplicate_of_itself(run: Run, project: Path) -> None:
    (project / "rules").mkdir()
    (project / "rules" / "ours.yaml").write_text(OURS)
    (project / ".modellint.yaml").write_text("rules: ['rules/*.yaml']\n")
    assert run("rule", "--check", "rules/ours.yaml").status == 0


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("code: ACME001", "code: ML101", "ours.yaml:1: code: ML101 is already used by "),
        ("name: house-load", "name: missing-eval", "ours.yaml:2: name: missing-eval is already used by "),
        ("call:", "cal:", "ours.yaml:13: detect.pattern.cal: unknown key; did you mean 'call'?"),
        (
            "hub.fetch]",
            "hub.fetsh]",
            "line 4: `hub.fetch(\"x\")  # finding` is marked '# finding', and nothing is found",
        ),
        ('hub.look("fetch")', 'hub.fetch("y")', "is not marked, and is found: `hub.fetch` found"),
        ("triggers: [fetch]", "triggers: [fetched]", "ours.yaml:10: triggers: none of them is in the example 'Here'"),
        (
            "# finding",
            "# finding: warning",
            '`hub.fetch("x")  # finding: warning` is marked warning, and is reported as error',
        ),
        ("# finding", "# finding: likely", "is marked likely, and is reported as certain"),
        ("  # finding", "  # possible", "examples.bad[0]: marks no line with '# finding'"),
        (
            'fetch("x")  # finding',
            'fetch("x")  # finding\n        hub.fetch("z")  # possible',
            "is marked '# possible', and is reported as certain",
        ),
        ("title: Here", "title: Here\n      says: [never]", "examples.bad[0].says: 'Here': no finding says 'never'"),
        (
            "ACME001",
            "acme1",
            "ours.yaml:1: code: 'acme1' does not match ^[A-Z]{2,6}[0-9]{3,4}$ (two to six capitals and",
        ),
        (
            'hub.look("fetch")',
            'hub.look("fetch"',
            "ours.yaml:16: examples.good[0]: 'Another', line 4 of the code: cannot be parsed",
        ),
        ("severity: error", "severity: fatal", "ours.yaml:4: severity: 'fatal' is none of error, warning, info"),
    ],
)
def test_what_is_wrong_with_a_rule_is_said_with_line_and_key(
    run: Run, project: Path, before: str, after: str, said: str
) -> None:
    assert before in OURS
    (project / "ours.yaml").write_text(OURS.replace(before, after))
    outcome = run("rule", "--check", "ours.yaml")
    assert outcome.status == 2
    assert said in outcome.err
    assert "Traceback" not in outcome.err


def test_an_example_is_named_by_its_row_in_the_file(run: Run, project: Path) -> None:
    (project / "ours.yaml").write_text(OURS.replace("hub.fetch]", "hub.other]"))
    row = OURS.splitlines().index('        hub.fetch("x")  # finding') + 1
    assert f"ours.yaml:{row}: examples.bad[0].code: 'Here', line 4" in run("rule", "--check", "ours.yaml").err


def test_a_broken_local_rule_stops_the_check(run: Run, project: Path) -> None:
    (project / "ours.yaml").write_text(OURS.replace("call:", "cal:"))
    (project / ".modellint.yaml").write_text("rules: [ours.yaml]\n")
    (project / "app.py").write_text("import torch\n")
    outcome = run("check", "app.py")
    assert outcome.status == 2
    assert "detect.pattern.cal: unknown key" in outcome.err


def test_a_local_rule_reports(run: Run, project: Path) -> None:
    (project / "ours.yaml").write_text(OURS)
    (project / ".modellint.yaml").write_text("rules: [ours.yaml]\n")
    (project / "app.py").write_text("import torch\nfrom acme.hub import fetch\n\nfetch('x')\n")
    outcome = run("check", "app.py")
    assert outcome.status == 1
    assert "ACME001" in outcome.out


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("  good:", "  god:", "examples.god: unknown key; did you mean 'good'?"),
        ("call: [", "cal: [", "detect.pattern.cal: unknown key; did you mean 'call'?"),
        ("severity: error", "colour: red", "lacks 'severity'"),
        ('hub.look("fetch")', 'hub.look("fetch"', "of the code: cannot be parsed by Python"),
        ('hub.fetch("x")', 'hub.fetch("x"', "of the code: cannot be parsed by Python"),
    ],
)
def test_each_cause_is_said_once(run: Run, project: Path, before: str, after: str, said: str) -> None:
    assert before in OURS
    (project / "ours.yaml").write_text(OURS.replace(before, after))
    lines = run("rule", "--check", "ours.yaml").err.splitlines()
    assert said in lines[0]
    assert all("colour: unknown key; known are code, " in line for line in lines[1:])


def test_several_files_are_checked_at_once(run: Run, project: Path) -> None:
    (project / "ours.yaml").write_text(OURS)
    (project / "broken.yaml").write_text(OURS.replace("call:", "cal:"))
    (project / "worse.yaml").write_text(OURS.replace("severity: error", "severity: fatal"))
    outcome = run("rule", "--check", "broken.yaml", "ours.yaml", "worse.yaml")
    assert outcome.status == 2
    assert outcome.out == "ours.yaml: ACME001 house-load: 2 examples, all as marked\n"
    said = outcome.err.splitlines()
    assert len(said) == 2
    assert "broken.yaml:13: detect.pattern.cal" in said[0]
    assert "worse.yaml:4: severity" in said[1]


def test_a_check_without_a_file(run: Run, project: Path) -> None:
    outcome = run("rule", "--check")
    assert outcome.status == 2
    assert "--check takes rule files" in outcome.err


def test_a_file_that_is_not_there(run: Run, project: Path) -> None:
    outcome = run("rule", "--check", "nowhere.yaml")
    assert outcome.status == 2
    assert "nowhere.yaml:1: cannot be read" in outcome.err
