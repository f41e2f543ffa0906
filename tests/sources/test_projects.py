"""What belongs to the project that starts in a folder: callers are looked for there, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from modellint.sources.projects import python_files


def lay(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def names(root: Path) -> list[str]:
    return [path.relative_to(root).as_posix() for path in python_files(root)]


def test_another_clone_inside_is_another_project(tmp_path: Path) -> None:
    lay(
        tmp_path,
        ".git/HEAD",
        "a.py",
        "third_party/.git",
        "third_party/b.py",
        "third_party/deep/c.py",
        "tools/d.ipynb",
        "tools/e.rs",
    )
    assert names(tmp_path) == ["a.py", "tools/d.ipynb"]


def test_a_package_inside_a_marked_project_belongs_to_it(tmp_path: Path) -> None:
    lay(tmp_path, "setup.py", "packages/one/pyproject.toml", "packages/one/a.py")
    assert names(tmp_path) == ["setup.py", "packages/one/a.py"]


def test_a_folder_that_nothing_marks_ends_where_a_project_starts(tmp_path: Path) -> None:
    lay(tmp_path, "a.py", "lib/b.py", "clone/pyproject.toml", "clone/c.py")
    assert names(tmp_path) == ["a.py", "lib/b.py"]


@pytest.mark.parametrize("variable", ["HOME", "TMPDIR"])
def test_of_a_home_only_its_own_files_count(variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, str(tmp_path))
    lay(tmp_path, "a.py", "experiments/b.py")
    assert names(tmp_path) == ["a.py"]
    assert names(tmp_path / "experiments") == ["b.py"]
