"""What a project declares to need."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from modellint.static import requirements
from modellint.static.requirements import is_held_below, required

OLD: Mapping[str, tuple[str, str]] = {
    "an exact release": ("requirements.txt", "numpy\ntorch==0.3.1\n"),
    "an exact release, in the file as some call it": ("requirement.txt", "torch == 0.3.0.post4\n"),
    "a bound": ("setup.py", 'setup(install_requires=["torch<0.4"])\n'),
    "a bound that counts": ("pyproject.toml", '[project]\ndependencies = ["torch<=0.3"]\n'),
    "as conda calls it": ("environment.yml", "dependencies:\n  - pytorch=0.3.1\n"),
    "two files": ("requirements.txt", "torch==0.2.0\ntorch==0.3.1\n"),
    "prose": ("README.md", "Our experiment environment is Python 3.6 & PyTorch 0.3.1. Thanks!\n"),
    "prose with a link": ("README.rst", "- [PyTorch](http://pytorch.org/) (v0.2.0_3)\n"),
    "prose with two releases": ("README", "tested with **PyTorch** version 0.2 and 0.3\n"),
}
NOT_OLD: Mapping[str, tuple[str, str]] = {
    "nothing": ("requirements.txt", "numpy\n"),
    "any release": ("requirements.txt", "torch\n"),
    "from a release on": ("requirements.txt", "torch>=0.3\n"),
    "an exact release that is newer": ("requirements.txt", "torch==0.4.0\n"),
    "a bound that leaves room": ("requirements.txt", "torch<1.0\n"),
    "a bound that counts, and leaves room": ("requirements.txt", "torch<=0.4\n"),
    "another package": ("requirements.txt", "torchtext==0.2.3\nmy-torch==0.3\n"),
    "an old release for some, a new one for others": ("requirements.txt", "torch==0.3.1\ntorch==1.0.0\n"),
    "prose that speaks of no release": ("README.md", "Written in PyTorch, Python 3.6, trained for 0.3 epochs\n"),
    "prose with newer releases": ("README.md", "PyTorch 0.3.0/0.4.0. It ran with PyTorch 0.2 in 2017.\n"),
    "prose: that one at least": ("README.md", "PyTorch 0.3+\n"),
    "prose: that one and later ones": ("README.md", "Requires PyTorch 0.3.1 or later (PyTorch 0.3.1 is slow)\n"),
    "prose: from that one on": ("README.md", "Requires [torch](https://pytorch.org) >= 0.3\n"),
    "prose: or higher, in brackets": ("README.md", "PyTorch 0.3 (or higher)\n"),
    "prose: newer ones in a row": ("README.md", "PyTorch 0.3.0 | 1.0.0\n"),
    "prose: newer ones in a list": ("README.md", "PyTorch 0.2, 0.3, and 1.0 are supported\n"),
    "prose: of another time": ("README.md", "It was written for PyTorch 0.2 and now runs with 1.x\n"),
    "prose: no longer": ("README.md", "This does not support PyTorch 0.3 any more\n"),
    "prose about another package": ("README.md", "torchtext 0.2, torchvision 0.2.1, my-pytorchutils 0.1\n"),
}


@pytest.mark.parametrize("name", OLD)
def test_a_project_that_allows_old_releases_alone(tmp_path: Path, name: str) -> None:
    file, text = OLD[name]
    (tmp_path / file).write_text(text, encoding="utf-8")
    (tmp_path / "inner").mkdir()
    assert is_held_below(tmp_path, tmp_path / "inner", "torch", (0, 4))
    assert not is_held_below(tmp_path / "inner", tmp_path / "inner", "torch", (0, 4))


@pytest.mark.parametrize("name", NOT_OLD)
def test_a_project_that_allows_newer_ones(tmp_path: Path, name: str) -> None:
    file, text = NOT_OLD[name]
    (tmp_path / file).write_text(text, encoding="utf-8")
    assert not is_held_below(tmp_path, tmp_path, "torch", (0, 4))


@pytest.mark.parametrize(
    ("file", "text"),
    [("setup.py", 'setup(install_requires=["torch>=1.0"])\n'), ("requirements.txt", "numpy\ntorch\n")],
)
def test_what_is_declared_counts_more_than_prose(tmp_path: Path, file: str, text: str) -> None:
    (tmp_path / "README.md").write_text("Written for PyTorch 0.3.\n", encoding="utf-8")
    assert is_held_below(tmp_path, tmp_path, "torch", (0, 4))
    requirements._said.cache_clear()
    requirements._declared.cache_clear()
    (tmp_path / file).write_text(text, encoding="utf-8")
    assert not is_held_below(tmp_path, tmp_path, "torch", (0, 4))


@pytest.mark.parametrize(
    ("text", "answer"),
    [("torch>=2.6", True), ("torch==2.7.1", True), ("torch>=2.5", False), ("torch<2.6", False), ("torch", False)],
)
def test_a_release_that_is_needed(tmp_path: Path, text: str, answer: bool) -> None:
    (tmp_path / "requirements.txt").write_text(text, encoding="utf-8")
    assert required(tmp_path, tmp_path, "torch>=2.6") is answer


def test_the_folder_nearest_to_a_file_counts(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch>=2.6", encoding="utf-8")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "requirements.txt").write_text("torch>=1.0", encoding="utf-8")
    assert not required(tmp_path, inner, "torch>=2.6")
