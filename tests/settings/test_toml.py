"""Line numbers of TOML keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from modellint.catalog import DocumentError
from modellint.settings.toml import load_toml, sub_document

PATH = Path("/project/pyproject.toml")
TEXT = '''\
# [tool.modellint]
[tool.modellint]
select = [
    "ML1",  # ] not the end
    'ML2', ["nested",
     2],
]
text = """
[not.a.table]
key = "x\\"y"
"""
rules.ML101.severity = "off"
"per-file-ignores" = { "a b.py" = ["ML1"], 'c'.d = 1.5 }
when = 1979-05-27T07:32:00Z

[[tool.modellint.models]]
target = "a:b"

[[tool.modellint.models]]
[tool.modellint.models.rules]
ML101 = false

[tool.modellint.rules.ML201]
severity = "info"
'''


def test_every_key_has_its_row() -> None:
    document = sub_document(load_toml(PATH, TEXT), "tool", "modellint")
    wanted = {
        ("select",): 3,
        ("select", 0): 4,
        ("select", 1): 5,
        ("select", 2): 5,
        ("select", 2, 1): 6,
        ("text",): 8,
        ("rules", "ML101", "severity"): 12,
        ("per-file-ignores", "a b.py", 0): 13,
        ("per-file-ignores", "c", "d"): 13,
        ("when",): 14,
        ("models",): 16,
        ("models", 0, "target"): 17,
        ("models", 1): 19,
        ("models", 1, "rules"): 20,
        ("models", 1, "rules", "ML101"): 21,
        ("rules", "ML201"): 23,
        ("rules", "ML201", "severity"): 24,
    }
    assert {key: document.rows.get(key) for key in wanted} == wanted


def test_a_table_that_is_not_there_is_empty() -> None:
    assert sub_document(load_toml(PATH, "[tool]\nx = 1\n"), "tool", "modellint").data == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nb = \n", "pyproject.toml:2: is not valid TOML: Invalid value"),
        ("a = 1\na = 2\n", "pyproject.toml:2: is not valid TOML: Cannot overwrite a value"),
        ("a = [1,\n", "pyproject.toml:2: is not valid TOML: Invalid value"),
    ],
)
def test_says_where_it_is_not_toml(text: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        load_toml(PATH, text)
    assert str(caught.value) == f"/project/{message}"


def test_says_that_it_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_bytes(b"a = '\xff'")
    with pytest.raises(DocumentError, match=r"pyproject.toml:1: is not UTF-8"):
        load_toml(path)
