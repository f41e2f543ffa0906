"""The script that takes switches out of correct files: what it cuts, and what it counts."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
RIGHT = """
import torch
from torch import nn

def evaluate(path, test_loader):
    net = nn.Sequential(nn.Linear(8, 2), nn.Dropout(0.1))
    net.load_state_dict(torch.load(path, weights_only=True))
    net.eval()
    with torch.no_grad():
        return [net(x).argmax(-1).tolist() for x in test_loader]
"""
FROZEN = """
import torch
from torch import nn

class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 2).eval()

    @torch.no_grad()
    def resize(self, x):
        return x * 2
"""


@pytest.fixture
def removal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("removal", BENCHMARKS / "removal.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["removal"] = module
    spec.loader.exec_module(module)
    monkeypatch.setattr(module.recall, "TREES", tmp_path / "trees")
    return module


@pytest.mark.parametrize(
    ("source", "changed", "rows"),
    [
        ("net.eval()\n", "net\n", [1]),
        ("a = [m.eval() for m in ms]; b.eval().cuda()\n", "a = [m for m in ms]; b.cuda()\n", [1, 1]),
        ("é = 'é'; net = build().eval()\n", "é = 'é'; net = build()\n", [1]),
        ("frame.eval('a + b')\neval(text)\n", "frame.eval('a + b')\neval(text)\n", []),
    ],
)
def test_eval_is_taken_out(removal: ModuleType, source: str, changed: str, rows: list[int]) -> None:
    assert removal.without_eval(source) == (changed, rows)


@pytest.mark.parametrize(
    ("source", "changed", "rows"),
    [
        ("with torch.no_grad():\n    f()\n", "if True:\n    f()\n", [1]),
        ("@torch.no_grad()\ndef f():\n    pass\n", "\ndef f():\n    pass\n", [1]),
        ("@torch.inference_mode\ndef f():\n    pass\n", "\ndef f():\n    pass\n", [1]),
        ("with torch.no_grad(): f()\n", "with torch.no_grad(): f()\n", []),
        ("with torch.no_grad(), a():\n    f()\n", "with torch.no_grad(), a():\n    f()\n", []),
        ("with torch.autocast('cpu'):\n    f()\n", "with torch.autocast('cpu'):\n    f()\n", []),
    ],
)
def test_switches_are_taken_out(removal: ModuleType, source: str, changed: str, rows: list[int]) -> None:
    assert removal.without_switches(source) == (changed, rows)


@pytest.mark.parametrize(("text", "verdict"), [(RIGHT, "found"), (FROZEN, "missed")])
def test_what_is_told_without_them(removal: ModuleType, tmp_path: Path, text: str, verdict: str) -> None:
    clone = tmp_path / "mirror" / "owner+name" / "repo"
    clone.mkdir(parents=True)
    (clone / "run.py").write_text(text, "utf-8")
    git = ["git", "-c", "user.name=someone", "-c", "user.email=someone@example.org", "-C", str(clone)]
    for command in (["init", "-q"], ["add", "run.py"], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *command], check=True)
    found = removal.remove("owner/name", tmp_path / "mirror")
    assert {(one.rule, one.verdict) for one in found} == {("ML101", verdict), ("ML201", verdict)}
