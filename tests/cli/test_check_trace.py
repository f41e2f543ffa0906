"""`modellint check --trace`: both passes in one command, and one story a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

pytestmark = pytest.mark.torch
pytest.importorskip("torch")

MODEL = """\
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        x = self.fc(x)
        return {call}


def build():
    return Net().eval()
"""
CLEAN = MODEL.format(call="F.dropout(x, 0.5, self.training)")
DEFECT = MODEL.format(call="F.dropout(x, 0.5)")
ROW = 12
CONFIGURATION = "models:\n  - target: model.py:build\n    inputs: ['float32[2,8]']\n"


@pytest.fixture
def folder(project: Path) -> Path:
    (project / ".modellint.yaml").write_text(CONFIGURATION)
    (project / "model.py").write_text(DEFECT)
    return project


def test_a_clean_project_is_silent_in_both_passes(folder: Path, run: Run) -> None:
    (folder / "model.py").write_text(CLEAN)
    done = run("check", "--trace")

    assert (done.status, done.err) == (0, "")
    assert done.out == "No findings in 1 file.\n"


def test_without_trace_no_model_is_run(folder: Path, run: Run) -> None:
    (folder / "model.py").write_text(CLEAN + "\n\nraise RuntimeError('imported')\n")

    assert run("check").status == 0
    assert run("check", "--trace").status == 2


def test_findings_about_one_line_are_one_story(folder: Path, run: Run) -> None:
    done = run("check", "--trace")

    assert done.status == 1
    heads = [line for line in done.out.splitlines() if line.startswith("model.py")]
    assert len(heads) == 1
    assert heads[0].startswith(f"model.py:{ROW}:16: error[ML104]")
    assert "explains ML601 active-dropout: dropout (p=0.5) is active" in done.out


def test_json_says_which_finding_explains_which(folder: Path, run: Run) -> None:
    found = json.loads(run("check", "--trace", "--output-format", "json").out)

    assert [(item["code"], item["location"]["row"], item.get("explained_by")) for item in found] == [
        ("ML104", ROW, None),
        ("ML601", ROW, ["ML104"]),
    ]


def test_what_the_static_pass_does_not_see_stands_by_itself(folder: Path, run: Run) -> None:
    (folder / "model.py").write_text(CLEAN.replace("Net().eval()", "Net()"))
    found = json.loads(run("check", "--trace", "--output-format", "json").out)

    assert [(item["code"], item["explained_by"]) for item in found] == [("ML601", [])]


def test_a_model_that_cannot_be_traced_is_exit_status_two(folder: Path, run: Run) -> None:
    (folder / ".modellint.yaml").write_text(CONFIGURATION.replace(":build", ":bild"))
    done = run("check", "--trace")

    assert done.status == 2
    assert "has no 'bild'" in done.err
    assert "error[ML104]" in done.out


def test_a_project_without_models_is_told_what_to_do(folder: Path, run: Run) -> None:
    (folder / ".modellint.yaml").write_text("{}\n")
    done = run("check", "--trace")

    assert (done.status, done.out) == (2, "")
    assert done.err == "modellint: --trace: the configuration names no model; list `models:` in .modellint.yaml\n"


@pytest.mark.parametrize("other", [("-",), ("--diff",)])
def test_what_makes_no_sense_together_is_refused(other: tuple[str, ...], folder: Path, run: Run) -> None:
    done = run("check", "--trace", *other)

    assert done.status == 2
    assert "--trace goes neither with `-` nor with --diff" in done.err


def test_fail_on_counts_for_both_passes(folder: Path, run: Run) -> None:
    (folder / ".modellint.yaml").write_text("ignore: [ML104, ML601]\n" + CONFIGURATION)

    assert run("check", "--trace").status == 0
