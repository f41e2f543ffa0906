"""docs/writing-rules.md: every rule on that page is proved as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from modellint.catalog import load_rule
from modellint.linting import check_paths, prove
from modellint.settings import Resolver

PAGE = Path(__file__).parent.parent / "docs" / "writing-rules.md"
RULES = [text for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text("utf-8"), re.S) if text.startswith("code:")]


def test_there_are_six() -> None:
    assert len(RULES) == 6


@pytest.mark.parametrize("text", RULES, ids=lambda text: text.split("\n")[1].removeprefix("name: "))
def test_the_rules_of_the_page_behave_as_their_examples_say(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rule.yaml"
    path.write_text(text, encoding="utf-8")
    assert list(prove(load_rule(path))) == []


def test_a_rule_can_be_for_one_folder(tmp_path: Path) -> None:
    code = "import torch.nn as nn\n\nnorm = nn.BatchNorm2d(8)\n"
    for folder in ("research", "serving"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "net.py").write_text(code, encoding="utf-8")
    rule = next(text for text in RULES if text.startswith("code: ACME002"))
    (tmp_path / "rule.yaml").write_text(rule.replace("severity:", "enabled: false\nseverity:"), encoding="utf-8")
    (tmp_path / ".modellint.yaml").write_text("rules: [rule.yaml]\n", encoding="utf-8")
    nested = next(
        text for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text("utf-8"), re.S) if "serving/" in text
    )
    (tmp_path / "serving" / ".modellint.yaml").write_text(nested, encoding="utf-8")
    found = [d for report in check_paths([tmp_path], Resolver()) for d in report.diagnostics]
    assert [(d.code, Path(d.filename).parent.name) for d in found] == [("ACME002", "serving")]
