"""Fixes code as `modellint check --fix --unsafe-fixes` does, with every rule on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from modellint.linting import FixedFile, fix_paths
from modellint.settings import Resolver

Fixed = Callable[..., str]


def write_project(folder: Path, files: Mapping[str, str], settings: Mapping[str, object]) -> None:
    """Write `files` and a configuration that holds `settings` to `folder`."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / ".modellint.yaml").write_text(json.dumps(settings), encoding="utf-8")


def overwrite(path: Path, before: bytes, after: bytes) -> str | None:
    assert path.read_bytes() == before
    path.write_bytes(after)
    return None


def fix_folder(folder: Path, *, unsafe: bool = True) -> list[FixedFile]:
    """Fix all files of `folder` until nothing is left to fix."""
    files = fix_paths([folder], Resolver(), overwrite, unsafe=unsafe)
    assert [error for file in files for error in file.report.errors] == []
    return files


@pytest.fixture
def fixed(tmp_path: Path) -> Fixed:
    """Return a function that returns a file's text after its fixes for the rules named (default: those that are on).

    Files beside it are given by name. Fails where a second run changes something.
    """

    def call(code: str, *rules: str, unsafe: bool = True, **beside: str) -> str:
        settings: dict[str, object] = {"select": list(rules)} if rules else {}
        files = {"app.py": dedent(code), **{f"{name}.py": dedent(text) for name, text in beside.items()}}
        write_project(tmp_path, files, settings)
        fix_folder(tmp_path, unsafe=unsafe)
        assert not any(file.changed for file in fix_folder(tmp_path, unsafe=unsafe))
        return (tmp_path / "app.py").read_text(encoding="utf-8")

    return call
