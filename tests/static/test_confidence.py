"""What is only possible, by what was measured: the table of the code is the one that the page shows."""

from __future__ import annotations

import re
from pathlib import Path

from modellint.static.confidence import DOUBTS

PAGE = Path(__file__).parents[2] / "docs" / "precision.md"


def test_the_page_has_the_same_table() -> None:
    section = PAGE.read_text("utf-8").split("## What confidence is worth\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (ML\d+) \| (.+) \| (\d+) \| (\d+) \|$", section, re.M)
    assert rows == [(doubt.rule, doubt.what, str(doubt.true), str(doubt.false)) for doubt in DOUBTS]


def test_what_is_true_three_times_in_four_is_shown() -> None:
    assert [doubt.what for doubt in DOUBTS if doubt.true / (doubt.true + doubt.false) >= 0.75] == []
