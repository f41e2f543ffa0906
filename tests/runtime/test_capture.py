"""The producers of a trace, one beside the other."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402, N812
from torch import nn  # noqa: E402

from modellint.runtime.capture.exported import export  # noqa: E402
from modellint.runtime.capture.ladder import Capture, capture  # noqa: E402
from modellint.runtime.capture.sites import SiteTable  # noqa: E402
from modellint.runtime.capture.subject import Subject  # noqa: E402

HERE = Path(__file__)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.norm = nn.BatchNorm1d(8, track_running_stats=False)
        self.drop = nn.Dropout(0.25)

    def forward(self, x: Any) -> Any:
        x = self.drop(self.norm(self.fc(x)))
        x = F.dropout(x, 0.5)
        return x + torch.rand(8)


def _row(text: str) -> int:
    lines = HERE.read_text(encoding="utf-8").splitlines()
    return next(row for row, line in enumerate(lines, 1) if line.strip() == text)


def _capture(model: nn.Module, *args: Any, given: bool = True) -> Capture:
    sites = SiteTable((HERE.parent,))
    subject = Subject(model, model, args, {}, sites, {}) if args else None
    return capture(subject, model, sites, {}, method="forward", given=given, why_not="no input")


def _dropouts_and_draws(found: Capture) -> set[tuple[str, str | None]]:
    return {(op.base, op.module) for op in found.ops if op.within is None and op.live}


def test_record_fx_and_export_tell_the_same() -> None:
    expected = {("dropout", "drop"), ("dropout", ""), ("rand", "")}
    recorded = _capture(Net(), torch.ones(4, 8))
    followed = _capture(Net())
    sites = SiteTable((HERE.parent,))
    exported = export(Net(), (torch.ones(4, 8),), {}, sites)

    assert [level.name for level in recorded.levels if level.answered] == ["record", "walk"]
    assert [level.name for level in followed.levels if level.answered] == ["fx", "walk"]
    assert _dropouts_and_draws(recorded) == _dropouts_and_draws(followed) == expected
    assert {(op.base, op.module) for op in exported if op.live} == expected
    places = {op.base: sites.sites[op.site].frame for op in exported if op.live and op.site is not None}
    assert places["rand"].row == _row("return x + torch.rand(8)")
    norms = [op for op in exported if op.base == "batch_norm"]
    assert [(op.module, op.args["training"], op.taint) for op in norms] == [("norm", True, 1)]


def test_a_kernel_that_is_missing_leaves_the_answer_to_export() -> None:
    class Rare(nn.Module):
        def forward(self, x: Any) -> Any:
            if not torch.compiler.is_exporting():
                raise NotImplementedError("'rare_kernel' not implemented for 'Half'")
            return F.dropout(x, 0.5)

    found = _capture(Rare(), torch.ones(4, 8), given=False)

    assert [(level.name, level.answered) for level in found.levels] == [
        ("record", False), ("export", True), ("walk", True),
    ]  # fmt: skip
    assert _dropouts_and_draws(found) == {("dropout", "")}


def test_an_optional_argument_that_was_left_out_is_followed_symbolically() -> None:
    class Optional(nn.Module):
        def forward(self, x: Any, noise: Any = None) -> Any:
            if noise is not None:
                x = F.dropout(x + noise, 0.5)
            return x * 2

    found = _capture(Optional(), torch.ones(4, 8))

    assert [level.name for level in found.levels if level.answered] == ["record", "fx", "walk"]
    assert [op.level for op in found.ops if op.live] == ["fx"]


@pytest.mark.slow
def test_recording_costs_at_most_twice_a_forward_and_three_tenths_of_a_second() -> None:
    layers = [layer for _ in range(40) for layer in (nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU())]
    model = nn.Sequential(nn.Conv2d(3, 32, 3), *layers).eval()
    x = torch.ones(4, 3, 96, 96)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            model(x)
            forward = min(_seconds(lambda: model(x)) for _ in range(3))
        recorded = min(_seconds(lambda: _capture(model, x)) for _ in range(3))
    finally:
        torch.set_num_threads(threads)

    assert recorded <= 2 * forward + 0.3


def _seconds(run: Any) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started
