"""Models that are too big or too slow to run here are traced on the meta device."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from modellint.catalog import ActiveRule, load_rules
from modellint.runtime import Pool, Request, TargetReport, trace_targets

pytestmark = pytest.mark.torch
pytest.importorskip("torch")

RULES = {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.enabled}
MODEL = """
import time

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(8, width)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        x = self.drop(self.fc(x))
        {body}
        return F.dropout(x, 0.1)


def build():
    return Net({width}).eval()
"""


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as pool:
        yield pool


def _trace(
    pool: Pool, folder: Path, body: str = "pass", width: str = "8", timeout: float = 60.0, memory: int | None = None
) -> TargetReport:
    (folder / "net.py").write_text(MODEL.format(body=body, width=width), encoding="utf-8")
    request = Request("net.py:build", ("float32[2,8]",), root=folder, timeout=timeout, memory=memory)
    (report,) = trace_targets([request], RULES, pool=pool)
    return report


@pytest.mark.parametrize("body", ["x = x @ torch.ones(8, 2**31)", "torch.ones(2**31)"])
def test_a_forward_that_needs_too_much_memory(body: str, pool: Pool, tmp_path: Path) -> None:
    report = _trace(pool, tmp_path, body, memory=3000)

    assert report.problem is None
    assert {d.code for d in report.diagnostics} == {"ML601", "ML609"}
    (note,) = [d for d in report.diagnostics if d.code == "ML609"]
    assert "on the meta device" in note.message
    assert "memory" in note.message or "alloc" in note.message


def test_a_model_that_is_too_big_to_be_built(pool: Pool, tmp_path: Path) -> None:
    report = _trace(pool, tmp_path, width="2**31", memory=3000)

    assert report.problem is None
    assert {d.code for d in report.diagnostics} == {"ML601", "ML609"}


def test_a_forward_that_takes_too_long_with_data(pool: Pool, tmp_path: Path) -> None:
    report = _trace(pool, tmp_path, "time.sleep(0 if x.is_meta else 1000)", timeout=15)

    assert report.problem is None
    assert {d.code for d in report.diagnostics} == {"ML601", "ML609"}


def test_a_forward_that_hangs_with_data_or_without_is_a_failure(pool: Pool, tmp_path: Path) -> None:
    report = _trace(pool, tmp_path, "time.sleep(1000)", timeout=5)

    assert [d.code for d in report.diagnostics] == ["ML003"]
    assert report.problem is not None
    assert "no answer within 5 s" in report.problem
