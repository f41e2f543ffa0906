"""Runs the command line: in this process, which is quick, or as a user would."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from modellint.cli import main

DEFECT = """\
import torch
from torchvision.models import resnet18

def predict(path, image):
    model = resnet18()
    model.load_state_dict(torch.load(path, weights_only=True))
    with torch.no_grad():
        return model(image).argmax(-1).item()
"""


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    status: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is also the working directory."""
    monkeypatch.chdir(tmp_path)
    for variable in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


@pytest.fixture
def run(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs `modellint` with its arguments in this process."""

    def call(*arguments: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(list(arguments))
        out, err = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Outcome(left.value.code, out, err)

    return call


@pytest.fixture
def shell(project: Path) -> Run:
    """Return a function that runs the installed `modellint` as a process of its own."""

    def call(*arguments: str, **more: object) -> Outcome:
        command = [str(Path(sys.executable).with_name("modellint")), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, **more)  # type: ignore[call-overload]
        return Outcome(done.returncode, done.stdout, done.stderr)

    return call
