"""Fixing a project costs little more than checking it: only files with something to fix are looked at twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from modellint.linting import applying, fix_paths
from modellint.settings import Resolver

CLEAN = "import torch\n\nstate = torch.load('net.pt', weights_only=True)\n"
BROKEN = "import torch\n\nstate = torch.load('net.pt', weights_only=False)\n"


def overwrite(path: Path, before: bytes, after: bytes) -> str | None:
    assert path.read_bytes() == before
    path.write_bytes(after)
    return None


def test_only_files_with_something_to_fix_are_looked_at_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "clean.py").write_text(CLEAN, encoding="utf-8")
    (tmp_path / "broken.py").write_text(BROKEN, encoding="utf-8")
    fix_one, looked_at = applying.fix_file, []

    def fix_file(engine: applying.Engine, path: Path, data: bytes, *, named: bool, unsafe: bool) -> applying.FixedFile:
        looked_at.append(path.name)
        return fix_one(engine, path, data, named=named, unsafe=unsafe)

    monkeypatch.setattr(applying, "fix_file", fix_file)
    files = {file.report.path.name: file for file in fix_paths([tmp_path], Resolver(), overwrite, unsafe=True)}
    assert looked_at == ["broken.py"]
    assert not files["clean.py"].changed and files["clean.py"].fixed == 0
    fixed = files["broken.py"]
    assert (fixed.before.decode(), fixed.after.decode(), fixed.fixed) == (BROKEN, CLEAN, 1)
    assert fixed.report.diagnostics == ()
