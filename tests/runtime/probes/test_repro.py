"""The scripts of `--emit-repro`: they run with torch alone, and tell the defect from its repair."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from modellint.runtime.probes.repro import script
from modellint.runtime.probes.result import FAILED, PASSED, SECOND_CALL, ProbeResult
from modellint.runtime.specs import parse_specs
from modellint.runtime.target import parse_target

pytestmark = pytest.mark.torch
pytest.importorskip("torch")

MODEL = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.register_buffer("calls", torch.zeros(()))
        self.matrix = torch.randn(8, 8)
    def forward(self, x):
        {body}
def build():
    return Net().eval()
"""
CASES = {
    "repeat": "self.calls += 1; return self.fc(x) * self.calls",
    "repeat, same tensors": "x -= 0.5; return self.fc(x)",
    "repeat, after another input": (
        "self.seen = getattr(self, 'seen', set()) | {float(x.sum())}; return self.fc(x) * len(self.seen)"
    ),
    "repeat, after another input: for good": (
        "self.seen = getattr(self, 'seen', x.sum()); return self.fc(x) * self.seen"
    ),
    "neighbours": "x = self.fc(x); return x / x.abs().amax()",
    "neighbours: in a branch": "x = self.fc(x); return x if x.mean() > 0.5 else -x",
    "alone": "return self.fc(x) / len(x)",
    "alone: in large batches": "return self.fc(x) * (1.5 if len(x) > 6 else 1.0)",
    "reload": "return self.fc(x) @ self.matrix",
    "layout": "return self.fc(torch.as_strided(x, x.shape, (8, 1)))",
    "layout: at an offset": "return self.fc(x) + (x.storage_offset() % 4)",
    "export": "x = self.fc(x); return x * 1.01 if torch.compiler.is_compiling() else x",
}


def run(folder: Path, probe: str, body: str) -> subprocess.CompletedProcess[str]:
    (folder / "net.py").write_text(MODEL.format(body=body), encoding="utf-8")
    name, _, again = probe.split(": ")[0].partition(", ")
    details = {"axis": 0, "kept": "the first", SECOND_CALL: again}
    text = script(
        parse_target("net.py:build", folder),
        parse_specs(("float32[4,8]",), folder),
        ProbeResult(name, FAILED, "differs", tolerance=1e-5, details=details),
    )
    assert text is not None
    assert "modellint." not in text
    (folder / "repro.py").write_text(text, encoding="utf-8")
    return subprocess.run([sys.executable, "repro.py"], cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("probe", CASES)
def test_script_is_silent_about_a_right_model_and_shows_the_defect(probe: str, tmp_path: Path) -> None:
    right = run(tmp_path, probe, "return self.fc(x)")
    wrong = run(tmp_path, probe, CASES[probe])

    assert (right.returncode, right.stderr) == (0, "")
    assert wrong.returncode == 1, wrong.stderr
    assert "differ" in wrong.stdout


def test_what_passed_needs_no_script(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("")

    assert script(parse_target("net.py:build", tmp_path), (), ProbeResult("repeat", PASSED)) is None
