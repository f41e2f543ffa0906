"""Constants are compared as Python compares them; where it raises, nothing is known."""

from __future__ import annotations

import ast

import pytest

from modellint.static.constants import compared


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 < 'a'", None),
        ("1 in 2", None),
        ("'val' == 'train'", False),
        ("'val' != 'train'", True),
        ("None is None", True),
        ("None is not None", False),
        ("2 <= 2", True),
        ("2 < 2", False),
        ("2 >= 3", False),
        ("3 > 2", True),
        ("'val' in ('val', 'test')", True),
        ("'val' not in ('val', 'test')", False),
    ],
)
def test_compared(text: str, expected: bool | None) -> None:
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Compare)
    left, right = ast.literal_eval(node.left), ast.literal_eval(node.comparators[0])
    assert compared(node.ops[0], left, right) is expected
