"""Which files a run checks."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from modellint.sources import discover


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")


def found(root: Path, *paths: str, **arguments: object) -> list[str]:
    named = [root / path for path in paths] or [root]
    return [path.relative_to(root).as_posix() for path in discover(named, **arguments)]  # type: ignore[arg-type]


def test_only_python_and_notebooks(tmp_path: Path) -> None:
    make(tmp_path, "b.py", "a.ipynb", "c.pyi", "d.txt", "e.pyc", "py", "sub/f.py")
    assert found(tmp_path) == ["a.ipynb", "b.py", "sub/f.py"]


def test_folders_that_are_not_the_projects_own_are_left_out(tmp_path: Path) -> None:
    folders = [".git", ".venv", "venv", "node_modules", "build", "dist", "__pycache__", ".tox", "x/site-packages"]
    make(tmp_path, *(f"{folder}/a.py" for folder in folders), "builder/a.py")
    assert found(tmp_path) == ["builder/a.py"]


def test_what_git_ignores_is_left_out(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    make(tmp_path, "a.py", "out/b.py", "sub/c.py", "sub/d.py", "sub/gen.py", "kept/gen.py", "local.py")
    (tmp_path / ".gitignore").write_text("# comment\nout/\ngen.py\n", encoding="utf-8")
    (tmp_path / "sub/.gitignore").write_text("/d.py\n", encoding="utf-8")
    (tmp_path / "kept/.gitignore").write_text("!gen.py\n", encoding="utf-8")
    (tmp_path / ".git/info/exclude").write_text("local.py\n", encoding="utf-8")
    assert found(tmp_path) == ["a.py", "kept/gen.py", "sub/c.py"]
    assert found(tmp_path, "sub") == ["sub/c.py"], "the files above count as well"


def test_without_git_its_files_mean_nothing(tmp_path: Path) -> None:
    make(tmp_path, "a.py")
    (tmp_path / ".gitignore").write_text("a.py\n", encoding="utf-8")
    assert found(tmp_path) == ["a.py"]


def test_excluded_folders_are_not_entered(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "old/b.py", "old/deep/c.py")
    asked: list[str] = []

    def excluded(path: Path) -> bool:
        asked.append(path.name)
        return path.name == "old"

    assert found(tmp_path, excluded=excluded) == ["a.py"]
    assert "deep" not in asked


def test_a_named_file_is_checked_whatever_it_is_called(tmp_path: Path) -> None:
    make(tmp_path, "script", "build/a.py", "b.py")
    assert found(tmp_path, "script", "build/a.py", "b.py", excluded=lambda path: True) == [
        "script",
        "build/a.py",
        "b.py",
    ]


def test_nothing_comes_twice(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "b.py")
    assert found(tmp_path, "b.py", ".", "sub/../b.py") == ["b.py", "a.py"]


def test_a_link_that_leads_back_ends_the_walk(tmp_path: Path) -> None:
    make(tmp_path, "a/b/c.py")
    (tmp_path / "a/b/up").symlink_to(tmp_path / "a")
    assert found(tmp_path) == ["a/b/c.py"]


def test_a_folder_may_be_called_like_a_file(tmp_path: Path) -> None:
    make(tmp_path, "package.py/a.py")
    assert found(tmp_path) == ["package.py/a.py"]
    assert found(tmp_path, "package.py") == ["package.py/a.py"]


def test_says_what_is_missing_and_goes_on(tmp_path: Path) -> None:
    make(tmp_path, "a.py")
    (tmp_path / "broken.py").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.py")
    missing: dict[str, str] = {}
    names = ("gone.py", "broken.py", "pipe.py", "a.py/x.py", "a.py", "n\0l")
    files = found(tmp_path, *names, missing=lambda path, why: missing.update({path.name: why}))
    assert files == ["a.py"]
    assert missing == {
        "gone.py": "does not exist",
        "broken.py": "is a broken link",
        "pipe.py": "is not a regular file",
        "x.py": "cannot be read: Not a directory",
        "n\0l": "is no path: it holds a null byte",
    }


def test_says_what_a_walk_leaves_out(tmp_path: Path) -> None:
    make(tmp_path, "a.py")
    (tmp_path / "broken.py").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.py")
    skipped: dict[str, str] = {}
    assert found(tmp_path, skipped=lambda path, why: skipped.update({path.name: why})) == ["a.py"]
    assert skipped == {"broken.py": "is a broken link", "pipe.py": "is not a regular file"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "locked/b.py")
    (tmp_path / "locked").chmod(0)
    skipped: list[str] = []
    try:
        assert found(tmp_path, skipped=lambda path, why: skipped.append(why)) == ["a.py"]
    finally:
        (tmp_path / "locked").chmod(0o755)
    assert skipped == ["cannot be read: Permission denied"]
