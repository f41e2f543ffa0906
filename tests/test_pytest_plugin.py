"""The pytest plugin: the function in this process, the fixture in a pytest run of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from modellint.pytest_plugin import assert_inference_ready

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
USER_TESTS = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(x)


def test_ready(assert_inference_ready):
    assert_inference_ready(Net().eval(), torch.randn(3, 4))


def test_not_ready(assert_inference_ready):
    assert_inference_ready(Net(), torch.randn(3, 4))
"""


class Centred(nn.Module):
    def forward(self, x: Any) -> Any:
        return x - x.mean(0)


@pytest.fixture(autouse=True)
def _no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".modellint.yaml").write_text("{}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "inputs",
    [torch.randn(3, 4), (torch.randn(3, 4),), [torch.randn(3, 4)], {"input": torch.randn(3, 4)}],
    ids=["one tensor", "a tuple", "a list", "a dict"],
)
def test_a_ready_model_passes_however_its_inputs_are_given(inputs: Any) -> None:
    assert_inference_ready(nn.Linear(4, 4).eval(), inputs, probes=("repeat", "neighbours"))


def test_what_is_ignored_passes() -> None:
    assert_inference_ready(nn.Dropout(), torch.randn(3, 4), ignore=["ML601"])


def test_a_probe_finds_what_one_forward_does_not_show() -> None:
    assert_inference_ready(Centred().eval(), torch.randn(3, 4))
    with pytest.raises(AssertionError, match="ML607"):
        assert_inference_ready(Centred().eval(), torch.randn(3, 4), probes=["neighbours"])


def test_fail_on_decides_what_counts(tmp_path: Path) -> None:
    (tmp_path / ".modellint.yaml").write_text("rules: {ML601: {severity: warning}}\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="ML601"):
        assert_inference_ready(nn.Dropout(), torch.randn(3, 4))
    text = "fail-on: error\nrules: {ML601: {severity: warning}}\n"
    (tmp_path / ".modellint.yaml").write_text(text, encoding="utf-8")
    assert_inference_ready(nn.Dropout(), torch.randn(3, 4))


@pytest.mark.parametrize("probe", ["reload", "repeet"])
def test_a_probe_that_cannot_be_run_here_is_refused(probe: str) -> None:
    with pytest.raises(ValueError, match=probe):
        assert_inference_ready(nn.Linear(4, 4).eval(), torch.randn(3, 4), probes=[probe])


def test_the_fixture_in_a_run_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "test_user.py").write_text(USER_TESTS, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "modellint.pytest_plugin", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "test_user.py:12:16: error[ML602]" in done.stdout, done.stdout
    assert "inspect_call" not in done.stdout, "the traceback ends at the user's line"
