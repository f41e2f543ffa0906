"""The runtime pass on a GPU: what is right passes, and what only a GPU does is named. Skipped where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from modellint.catalog import ActiveRule, load_rules  # noqa: E402
from modellint.runtime import Pool, Request, TargetReport, trace_targets  # noqa: E402
from modellint.runtime.probes.names import parse_probes  # noqa: E402
from modellint.runtime.probes.result import FAILED, PASSED  # noqa: E402
from tests.runtime.probes.test_probes import results  # noqa: E402

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]
RULES = {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.enabled}
FILE = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        x = self.norm(self.conv(x)).relu().mean((2, 3))
        {line}
        return self.head(x)


def build():
    return Net().eval().cuda()
"""


class Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(64, 64)
        self.second = nn.Linear(64, 8)

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x).relu())


class OffByALittleOnAGpu(Head):
    def __init__(self) -> None:
        super().__init__()
        self.second = Scale()


class Scale(nn.Linear):
    def __init__(self) -> None:
        super().__init__(64, 8)

    def forward(self, x: Any) -> Any:
        return super().forward(x * 1.001 if x.is_cuda else x)


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(*(nn.Conv2d(64, 64, 3) for _ in range(4)))

    def forward(self, x: Any) -> Any:
        return self.layers(x)


class AddsInAnyOrder(nn.Module):
    """`index_add_` on a GPU adds atomically, in whatever order the threads arrive: the sum differs in its last bits."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x: Any) -> Any:
        rows = torch.zeros(len(x), dtype=torch.long, device=x.device)
        return torch.zeros(4, x.shape[1], device=x.device).index_add_(0, rows, x * self.scale)


@contextmanager
def tf32(on: bool) -> Iterator[None]:
    switches = (torch.backends.cuda.matmul, torch.backends.cudnn)
    before = [switch.allow_tf32 for switch in switches]
    for switch in switches:
        switch.allow_tf32 = on
    try:
        yield
    finally:
        for switch, was in zip(switches, before, strict=True):
            switch.allow_tf32 = was


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as running:
        yield running


def traced(pool: Pool, folder: Path, line: str, probes: str = "") -> TargetReport:
    Path(folder, "net.py").write_text(FILE.format(line=line), encoding="utf-8")
    request = Request(
        "net.py:build",
        ("float32[4,3,16,16]",),
        root=folder,
        timeout=120,
        probes=parse_probes(probes) if probes else (),
    )
    (found,) = trace_targets([request], RULES, pool=pool)
    return found


def test_a_right_model_on_a_gpu_raises_no_alarm(pool: Pool, tmp_path: Path) -> None:
    found = traced(pool, tmp_path, "pass", "all")

    assert found.trace is not None, found.problem
    assert found.trace.device.startswith("cuda")
    assert [finding.code for finding in found.diagnostics if finding.severity != "info"] == []
    assert {result.verdict for result in found.trace.probes} & {FAILED} == set(), found.trace.probes


@pytest.mark.parametrize("name", ["cuda", "float64", "threads"])
def test_the_gpu_agrees_with_the_processor(name: str) -> None:
    torch.manual_seed(0)
    found = results(Head().eval(), (torch.randn(5, 64),), name)

    assert found[name].verdict == PASSED, found


def test_what_is_wrong_on_a_gpu_alone_is_found() -> None:
    torch.manual_seed(0)
    found = results(OffByALittleOnAGpu().eval(), (torch.randn(5, 64),), "cuda")["cuda"]

    assert found.verdict == FAILED, found
    assert [culprit.module for culprit in found.culprits] == ["second"], found.culprits


def test_the_tensor_cores_of_a_gpu_are_no_error_of_the_model() -> None:
    torch.manual_seed(0)
    model, inputs = Convolutions().eval(), (torch.randn(4, 64, 32, 32),)
    with tf32(True):
        rounded = results(model, inputs, "cuda")["cuda"]
    with tf32(False):
        exact = results(model, inputs, "cuda")["cuda"]

    assert (rounded.verdict, rounded.cause) == (PASSED, "TF32"), rounded
    assert rounded.metric is not None and rounded.metric > 1e-5
    assert exact.verdict == PASSED and exact.metric is not None and exact.metric <= 1e-5, exact


def test_a_kernel_that_holds_constants_of_float32_in_double_precision_is_no_error_of_the_model() -> None:
    torch.manual_seed(0)
    layers = (layer for _ in range(4) for layer in (nn.Conv2d(64, 64, 3), nn.Hardswish()))
    with tf32(True):
        found = results(nn.Sequential(*layers).eval(), (torch.randn(4, 64, 32, 32),), "cuda")["cuda"]

    assert (found.verdict, found.cause) == (PASSED, "TF32"), found
    assert found.metric is not None and found.metric > 1e-5


def test_a_draw_on_the_gpu_is_seen(pool: Pool, tmp_path: Path) -> None:
    found = traced(pool, tmp_path, "x = x + torch.randn_like(x)", "repeat")

    assert {"ML603", "ML701"} & {finding.code for finding in found.diagnostics}, found


def test_sums_in_any_order_differ_from_call_to_call_and_are_told_as_rounding() -> None:
    torch.manual_seed(0)
    model = AddsInAnyOrder().eval().cuda()

    found = results(model, (torch.rand(5_000, 16, device="cuda"),), "repeat")["repeat"]

    assert (found.verdict, found.cause) == (PASSED, "reduction order"), found
    assert "not bit for bit" in found.reason


def test_a_batch_of_another_size_takes_another_path_through_the_tensor_cores() -> None:
    torch.manual_seed(0)
    model, inputs = Convolutions().eval().cuda(), (torch.randn(3, 64, 32, 32, device="cuda"),)
    with tf32(True):
        found = results(model, inputs, "alone")["alone"]

    assert found.verdict == PASSED, found
    assert found.cause == ("TF32" if found.metric and found.metric > 1e-5 else ""), found


def test_a_mask_lies_where_its_batch_lies() -> None:
    class Masked(Head):
        def forward(self, x: Any, attention_mask: Any) -> Any:
            kept = attention_mask.unsqueeze(-1).to(x.dtype)
            return super().forward((x * kept).sum(1) / kept.sum(1).clamp(min=1))

    inputs = (torch.randn(2, 5, 64, device="cuda"), torch.ones(2, 5, dtype=torch.int64, device="cuda"))

    found = results(Masked().eval().cuda(), inputs, "neighbours,alone,padding")

    assert {name: result.verdict for name, result in found.items()} == dict.fromkeys(found, PASSED), found


def test_the_random_states_of_the_gpu_are_left_as_they_were() -> None:
    torch.manual_seed(0)
    model, inputs = Head().eval().cuda(), (torch.randn(48, 64, device="cuda"),)
    before = torch.cuda.get_rng_state()
    results(model, inputs, "all", quick=False)

    assert torch.equal(torch.cuda.get_rng_state(), before)
