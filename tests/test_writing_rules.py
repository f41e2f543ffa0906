"""docs/writing-rules.md: every rule on that page is proved as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from modellint.catalog import load_rule
from modellint.linting import prove

PAGE = Path(__file__).parent.parent / "docs" / "writing-rules.md"
RULES = [text for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text("utf-8"), re.S) if text.startswith("code:")]


def test_there_are_six() -> None:
    assert len(RULES) == 6


@pytest.mark.parametrize("text", RULES, ids=lambda text: text.split("\n")[1].removeprefix("name: "))
def test_the_rules_of_the_page_behave_as_their_examples_say(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rule.yaml"
    path.write_text(text, encoding="utf-8")
    assert list(prove(load_rule(path))) == []
