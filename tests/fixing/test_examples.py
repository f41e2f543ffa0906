"""Every bad example of every rule that has a fixer, with all rules on: fixed, or left alone, but never made worse."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from modellint.catalog import Example, Rule, load_rules
from modellint.catalog.rule import fixers
from modellint.linting import FileReport, check_paths
from modellint.settings import Resolver
from tests.fixing.conftest import fix_folder, write_project

RULES = [rule for rule in load_rules().values() if rule.fix is not None and rule.fix.fixer is not None]

# What a fixer rightly leaves alone: a person has to decide.
BY_HAND = {
    ("ML104", "The caller hands the probability on as it is"),
    ("ML101", "Nothing in this model depends on the mode today"),
    ("ML104", "One caller of two follows the mode"),
    ("ML105", "A module whose part has weights"),
    ("ML105", "New random weights in every call"),
    ("ML105", "A module of the project with weights"),
    ("ML106", "In the body of the class"),
    ("ML305", "Left in the pipeline of the test set"),
    ("ML305", "A data set of one's own"),
    ("ML305", "The transform of the training set for the validation set"),
    ("ML305", "Built in another file"),
    ("ML306", "By phase"),
    ("ML306", "A random sampler"),
    ("ML307", "A batch sampler that drops"),
    ("ML307", "One function builds every loader, and forgets to ask"),
}


def examples() -> Iterator[object]:
    for rule in RULES:
        for example in rule.cases:
            if example.bad:
                yield pytest.param(rule, example, id=f"{rule.code}-{example.title}")


def check(folder: Path) -> list[FileReport]:
    return list(check_paths([folder], Resolver(), fixes=True))


def counts(reports: list[FileReport]) -> Counter[str]:
    return Counter(d.code for report in reports for d in report.diagnostics)


@pytest.mark.parametrize(("rule", "example"), list(examples()))
def test_the_finding_goes_and_no_other_one_comes(rule: Rule, example: Example, tmp_path: Path) -> None:
    settings = {"extend-select": [rule.code], "rules": {rule.code: {"options": dict(example.options)}}}
    write_project(tmp_path, example.files, settings)
    before = counts(check(tmp_path))
    assert before[rule.code]

    fix_folder(tmp_path)

    after = counts(check(tmp_path))
    assert after <= before
    if example in rule.examples:  # what a fixer leaves of the edge cases is nobody's promise
        assert (after[rule.code] == 0) == ((rule.code, example.title) not in BY_HAND)
    for path in tmp_path.rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"))
    assert not any(file.changed for file in fix_folder(tmp_path)), "a second run changes nothing"


@pytest.mark.parametrize(("rule", "example"), list(examples()))
def test_each_offered_fix_holds_by_itself(rule: Rule, example: Example, tmp_path: Path) -> None:
    from modellint.fixing import rewrite

    settings = {"select": [rule.code], "rules": {rule.code: {"options": dict(example.options)}}}
    write_project(tmp_path, example.files, settings)
    path = tmp_path / example.check
    data = path.read_bytes()
    found = [d for report in check(path) for d in report.diagnostics]

    for diagnostic in found:
        if diagnostic.fix is not None:
            path.write_bytes(rewrite(path, data, diagnostic.fix.edits))
            assert counts(check(path))[rule.code] < len(found), diagnostic.fix.message
            path.write_bytes(data)


def test_every_fixer_is_used_and_every_rule_is_exercised() -> None:
    assert {rule.fix.fixer for rule in RULES if rule.fix is not None} == set(fixers())
    shown = {(rule.code, example.title) for rule in RULES for example in rule.examples if example.bad}
    assert shown >= BY_HAND
    for rule in RULES:
        assert {(rule.code, e.title) for e in rule.examples if e.bad} - BY_HAND, f"{rule.code} fixes nothing it shows"
