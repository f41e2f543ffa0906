"""The scripts of `--emit-repro`: they run with torch alone, and tell the defect from its repair."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from modellint.runtime.probes.repro import script  # noqa: E402
from modellint.runtime.probes.result import FAILED, PASSED, SECOND_CALL, ProbeResult  # noqa: E402
from modellint.runtime.specs import parse_specs  # noqa: E402
from modellint.runtime.target import parse_target  # noqa: E402
from tests.runtime.probes.test_probes import results  # noqa: E402

pytestmark = pytest.mark.torch

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
    "reload, under other seeds": (
        "self.drawn = getattr(self, 'drawn', None); "
        "self.drawn = torch.randn(8) if self.drawn is None else self.drawn; return self.fc(x) + self.drawn"
    ),
    "threads": "return self.fc(x) * torch.get_num_threads()",
    "float64": "return self.fc(x) * (1.01 if x.dtype is torch.float64 else 1)",
    "bfloat16": "return self.fc(x) * (2 if x.dtype is torch.bfloat16 else 1)",
    "onnxruntime": "x = self.fc(x); return x * 1.01 if torch.compiler.is_compiling() else x",
    "inductor": "x = self.fc(x); return x * 1.01 if torch.compiler.is_compiling() else x",
    "aot_eager": "x = self.fc(x); return x * 1.01 if torch.compiler.is_compiling() else x",
    "export": "x = self.fc(x); return x * 1.01 if torch.compiler.is_compiling() else x",
}


PADDED = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 8)
        self.conv = nn.Conv1d(8, 8, 3, padding=1)
    def forward(self, ids, attention_mask):
        x, keep = self.embed(ids), attention_mask[..., None].float()
        {body}
def build():
    return Net().eval()
"""
POOLED = "return (x * keep).sum(1) / keep.sum(1)"
UNDER_THE_MASK = {
    "other values": "x = self.conv(x.transpose(1, 2)).transpose(1, 2); " + POOLED,
    "no padding": "return (x * keep).sum(1) / x.shape[1]",
}


def run(folder: Path, probe: str, body: str) -> subprocess.CompletedProcess[str]:
    (folder / "net.py").write_text(MODEL.format(body=body), encoding="utf-8")
    name, _, again = probe.split(": ")[0].partition(", ")
    details = {"axis": 0, "kept": "the first", SECOND_CALL: again}
    tolerance = 0.05 if name == "bfloat16" else 1e-5
    result = ProbeResult(name, FAILED, "differs", tolerance=tolerance, details=details)
    return written(folder, ("float32[4,8]",), result)


def written(folder: Path, inputs: tuple[str, ...], result: ProbeResult) -> subprocess.CompletedProcess[str]:
    """Write the script of a failed probe and run it."""
    text = script(parse_target("net.py:build", folder), parse_specs(inputs, folder), result)
    assert text is not None
    assert "modellint." not in text
    (folder / "repro.py").write_text(text, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-W", "ignore", "repro.py"], cwd=folder, capture_output=True, text=True, timeout=400
    )


@pytest.mark.parametrize("probe", CASES)
def test_script_is_silent_about_a_right_model_and_shows_the_defect(probe: str, tmp_path: Path) -> None:
    if probe == "onnxruntime":
        pytest.importorskip("onnxruntime")
        pytest.importorskip("onnxscript")
    if probe == "inductor" and not (shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("no C++ compiler")
    right = run(tmp_path, probe, "return self.fc(x)")
    wrong = run(tmp_path, probe, CASES[probe])

    assert (right.returncode, right.stderr) == (0, "")
    assert wrong.returncode == 1, wrong.stderr
    assert "differ" in wrong.stdout


@pytest.mark.parametrize("how", UNDER_THE_MASK)
def test_script_for_padding_is_silent_about_a_right_model_and_shows_the_defect(how: str, tmp_path: Path) -> None:
    inputs = ("ids=int64[3,6]:1..30", "attention_mask=int64[3,6]:1..2")
    namespace: dict[str, Any] = {}
    exec(PADDED.format(body=UNDER_THE_MASK[how]), namespace)
    kwargs = {"ids": torch.randint(1, 30, (3, 6)), "attention_mask": torch.ones(3, 6, dtype=torch.int64)}
    (found,) = results(namespace["build"](), (), "padding", kwargs=kwargs).values()
    assert found.verdict == FAILED, found

    (tmp_path / "net.py").write_text(PADDED.format(body=POOLED), encoding="utf-8")
    right = written(tmp_path, inputs, found)
    (tmp_path / "net.py").write_text(PADDED.format(body=UNDER_THE_MASK[how]), encoding="utf-8")
    wrong = written(tmp_path, inputs, found)

    assert (right.returncode, right.stderr) == (0, "")
    assert (wrong.returncode, f"with {how}" in wrong.stdout) == (1, True), wrong


def test_script_for_a_gpu_says_where_there_is_none(tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is one")
    found = run(tmp_path, "cuda", "return self.fc(x)")

    assert (found.returncode, found.stdout.strip()) == (2, "needs a GPU")


def test_what_passed_needs_no_script(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("")

    assert script(parse_target("net.py:build", tmp_path), (), ProbeResult("repeat", PASSED)) is None
