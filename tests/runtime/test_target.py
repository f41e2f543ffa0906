from __future__ import annotations

from pathlib import Path

import pytest

from modellint.runtime.target import TargetError, parse_target


def test_a_file_counts_from_the_root_and_becomes_absolute(tmp_path: Path) -> None:
    (tmp_path / "model.py").touch()

    target = parse_target("model.py:build", tmp_path)

    assert (target.file, target.module, target.name) == (tmp_path.resolve() / "model.py", None, "build")


def test_a_module_keeps_its_dots_and_a_name_may_have_some(tmp_path: Path) -> None:
    target = parse_target("package.models:Net.create", tmp_path)

    assert (target.file, target.module, target.name) == (None, "package.models", "Net.create")


def test_a_drive_letter_or_a_colon_in_a_path_is_no_separator(tmp_path: Path) -> None:
    (tmp_path / "a:b").mkdir()
    (tmp_path / "a:b" / "model.py").touch()

    assert parse_target("a:b/model.py:build", tmp_path).name == "build"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("model.py", "a target is"),
        (":build", "a target is"),
        ("model.py:", "a target is"),
        ("missing.py:build", "there is no file missing.py"),
        ("folder.py:build", "is not a file"),
        ("model.py:build()", "is not the name"),
        ("not a module:build", "neither a module nor a .py file"),
    ],
)
def test_a_wrong_target_is_one_line_that_shows_it(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "model.py").touch()

    with pytest.raises(TargetError) as caught:
        parse_target(text, tmp_path)

    message = str(caught.value)
    assert reason in message
    assert text in message
    assert "\n" not in message
