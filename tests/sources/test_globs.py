"""File patterns in the spelling of .gitignore."""

from __future__ import annotations

from pathlib import Path

import pytest

from modellint.sources import Glob

BASE = Path("/project")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("tests", "src/my_tests/a.py"),
        ("tests", "src/tests.py"),
        ("*.py", "a.pyi"),
        ("src/*.py", "src/deep/a.py"),
        ("src/*.py", "other/src/a.py"),
        ("src/**", "other/src/a.py"),
        ("a?c.py", "a/c.py"),
        ("[!a]b.py", "ab.py"),
        ("a.py", "axpy"),
    ],
)
def test_does_not_match(pattern: str, path: str) -> None:
    assert not Glob(pattern, BASE).matches(BASE / path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("tests", "tests/a.py"),
        ("tests/", "src/tests/deep/a.py"),
        ("*_pb2.py", "src/x_pb2.py"),
        ("src/*.py", "src/a.py"),
        ("./src/*.py", "src/a.py"),
        ("src/**", "src/deep/a.py"),
        ("src/**/a.py", "src/a.py"),
        ("src/**/a.py", "src/b/c/a.py"),
        ("**/gen/*.py", "gen/a.py"),
        ("src/old", "src/old/deep/a.py"),
        ("[ab].py", "a.py"),
        ("[!a]b.py", "cb.py"),
        ("*", "anything/at/all.py"),
    ],
)
def test_matches(pattern: str, path: str) -> None:
    assert Glob(pattern, BASE).matches(BASE / path)


def test_outside_of_its_folder_a_pattern_means_names_only() -> None:
    elsewhere = Path("/elsewhere/tests/a.py")
    assert Glob("tests", BASE).matches(elsewhere)
    assert not Glob("elsewhere/tests", BASE).matches(elsewhere)
    assert Glob("/elsewhere/**", BASE).matches(elsewhere)
