"""`modellint lock` and `modellint verify`: options, exit statuses and messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

pytestmark = pytest.mark.torch
pytest.importorskip("torch")

MODEL = """
import torch
from torch import nn


def build():
    model = nn.Linear(4, 4)
    model.load_state_dict({"weight": torch.eye(4), "bias": torch.full((4,), 0.5)})
    return model.eval()


def other():
    return build()
"""


@pytest.fixture
def folder(project: Path) -> Path:
    (project / "net.py").write_text(MODEL)
    return project


def test_lock_then_verify_and_what_changed_since(folder: Path, run: Run) -> None:
    done = run("lock", "net.py:build", "--input", "float32[2,4]")
    assert (done.status, done.out) == (0, "")
    assert "locked net.py:build in modellint.lock: 2 tensors and 1 output" in done.err
    done = run("lock", "net.py:other", "--quiet")
    assert (done.status, done.out, done.err) == (0, "", "")
    done = run("verify")
    assert (done.status, done.out, done.err) == (0, "No findings in 2 models.\n", "")

    (folder / "net.py").write_text(MODEL.replace("0.5", "0.75"))
    done = run("verify", "net.py:build", "--output-format", "json")

    (finding,) = json.loads(done.out)
    assert done.status == 1
    assert finding["code"] == "ML706"
    assert finding["location"]["row"] == 6
    assert finding["related"][0]["filename"] == str(folder / "modellint.lock")
    assert "1 of 2 tensors differ: bias changed by about 0.5" in finding["message"]
    assert "outputs differ (output: max|d| 0.25 " in finding["message"]


def test_a_foreign_lockfile_is_neither_read_nor_overwritten(folder: Path, run: Run) -> None:
    foreign = "[[package]]\nname = 'numpy'\n"
    (folder / "modellint.lock").write_text(foreign)

    for command in (("lock", "net.py:build"), ("verify",)):
        done = run(*command)
        assert done.status == 2
        assert done.err.startswith("modellint: modellint.lock:")
        assert len(done.err.splitlines()) == 1
    assert (folder / "modellint.lock").read_text() == foreign


def test_a_model_that_cannot_be_locked_leaves_the_others_locked(folder: Path, run: Run) -> None:
    (folder / "broken.py").write_text("def build():\n    raise RuntimeError('no checkpoint')\n")

    done = run("lock", "broken.py:build", "net.py:build", "missing.pt")

    assert done.status == 2
    assert "no checkpoint" in done.err
    assert "there is no file missing.pt" in done.err
    text = (folder / "modellint.lock").read_text()
    assert "net.py:build" in text
    assert "broken" not in text


def test_what_is_not_in_the_lockfile_is_named(folder: Path, run: Run) -> None:
    done = run("verify")
    assert (done.status, done.err) == (
        2, "modellint: modellint.lock: there is no such file; `modellint lock TARGET` writes it\n"
    )  # fmt: skip

    (folder / "modellint.lock").write_text("version: 1\nmodels: {}\n")
    done = run("verify", "net.py:build")
    assert done.status == 2
    assert "has no model 'net.py:build'" in done.err
