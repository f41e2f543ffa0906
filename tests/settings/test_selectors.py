"""Which rules run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from modellint.catalog import Rule, load_rules
from modellint.settings.selectors import Selection, complaint

_BASE = load_rules()["ML101"]


def rule(code: str, name: str, family: str, enabled: bool = True) -> Rule:
    return replace(_BASE, code=code, name=name, family=family, enabled=enabled)


RULES = {
    r.code: r
    for r in (
        rule("ML001", "unused-suppression", "core"),
        rule("ML002", "cannot-parse", "core"),
        rule("ML101", "missing-eval", "mode"),
        rule("ML102", "eval-not-called", "mode"),
        rule("ML201", "missing-no-grad", "grad"),
        rule("ML205", "prefer-inference-mode", "grad", enabled=False),
    )
}
DEFAULT = {"ML001", "ML002", "ML101", "ML102", "ML201"}


@pytest.mark.parametrize(
    ("selection", "chosen"),
    [
        pytest.param(Selection(), DEFAULT, id="default"),
        pytest.param(Selection(strict=True), {*DEFAULT, "ML205"}, id="strict"),
        pytest.param(Selection(select=["ML1"]), {"ML002", "ML101", "ML102"}, id="prefix; ML002 always runs"),
        pytest.param(Selection(select=["grad"]), {"ML002", "ML201"}, id="family, without what is off"),
        pytest.param(Selection(select=["ML2"]), {"ML002", "ML201"}, id="prefix, without what is off"),
        pytest.param(Selection(select=["ML205"]), {"ML002", "ML205"}, id="what is off, by code"),
        pytest.param(Selection(extend=["prefer-inference-mode"]), {*DEFAULT, "ML205"}, id="and by name"),
        pytest.param(Selection(select=["ALL"]), {*DEFAULT, "ML205"}, id="all"),
        pytest.param(Selection(select=[]), {"ML002"}, id="none"),
        pytest.param(Selection(ignore=["ML1"]), DEFAULT - {"ML101", "ML102"}, id="ignored"),
        pytest.param(Selection(ignore=["ML002"]), DEFAULT - {"ML002"}, id="ML002, ignored by code"),
        pytest.param(Selection(select=["ML101"], ignore=["ML1"]), {"ML002", "ML101"}, id="the closer one wins"),
        pytest.param(Selection(select=["ML1"], ignore=["ML101"]), {"ML002", "ML102"}, id="either way"),
        pytest.param(Selection(select=["ML1"], ignore=["ML1"]), {"ML002"}, id="between equals, ignore"),
        pytest.param(Selection(switched={"ML101": False}), DEFAULT - {"ML101"}, id="switched off"),
        pytest.param(Selection(switched={"ML205": True}), {*DEFAULT, "ML205"}, id="switched on"),
    ],
)
def test_files_choose(selection: Selection, chosen: set[str]) -> None:
    assert selection.chosen(RULES) == chosen


@pytest.mark.parametrize(
    ("selection", "command_line", "chosen"),
    [
        pytest.param(Selection(select=["ML2"]), {"select": ["ML1"]}, {"ML002", "ML101", "ML102"}, id="select"),
        pytest.param(Selection(), {"extend": ["ML205"]}, {*DEFAULT, "ML205"}, id="extend"),
        pytest.param(Selection(select=["ML101"]), {"ignore": ["ML1"]}, {"ML002"}, id="ignore"),
        pytest.param(Selection(ignore=["ML101"]), {"select": ["ML101"]}, {"ML002", "ML101"}, id="select beats ignore"),
        pytest.param(Selection(ignore=["ML101"]), {"select": ["ML1"]}, {"ML002", "ML102"}, id="a closer ignore stays"),
        pytest.param(Selection(switched={"ML101": False}), {"select": ["ML101"]}, {"ML002", "ML101"}, id="off"),
        pytest.param(Selection(), {"select": ["ML1"], "ignore": ["ML101"]}, {"ML002", "ML102"}, id="both"),
        pytest.param(Selection(), {"select": ["ML101"], "ignore": ["ML1"]}, {"ML002", "ML101"}, id="closer"),
    ],
)  # fmt: skip
def test_the_command_line_beats_files(
    selection: Selection, command_line: dict[str, list[str]], chosen: set[str]
) -> None:
    assert selection.chosen(RULES, **command_line) == chosen


@pytest.mark.parametrize("selector", ["ML101", "ML1", "ML", "missing-eval", "grad", "ALL"])
def test_means_something(selector: str) -> None:
    assert complaint(selector, RULES) is None


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("ML9", "'ML9' means no rule"),
        ("ml101", "'ml101' means no rule; did you mean 'ML101'?"),
        ("missing-evel", "'missing-evel' means no rule; did you mean 'missing-eval'?"),
        ("grads", "'grads' means no rule; did you mean 'grad'?"),
        ("", "'' means no rule"),
    ],
)
def test_means_nothing(selector: str, message: str) -> None:
    assert (complaint(selector, RULES) or "").startswith(message)
