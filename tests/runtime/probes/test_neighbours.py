"""ML607: no alarm for what keeps its samples apart, and the line that mixes them for everything else."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from modellint.runtime.capture.sites import SiteTable  # noqa: E402
from modellint.runtime.capture.subject import Subject  # noqa: E402
from modellint.runtime.probes.result import FAILED, PASSED, VACUOUS, ProbeResult  # noqa: E402
from modellint.runtime.probes.run import run_probes  # noqa: E402
from tests.runtime.probes import coupled_layers, coupled_models, separate_layers, separate_models  # noqa: E402

pytestmark = pytest.mark.torch


def models(module: Any) -> list[Any]:
    found = [
        cls
        for cls in vars(module).values()
        if inspect.isclass(cls)
        and issubclass(cls, nn.Module)
        and cls.__module__ == module.__name__
        and "forward" in vars(cls)
    ]
    return [pytest.param(cls, id=cls.__name__) for cls in found]


def probe(model: nn.Module, inputs: tuple[Any, ...], name: str = "neighbours") -> tuple[ProbeResult, SiteTable]:
    sites = SiteTable((Path(__file__).parents[3],))
    subject = Subject(model, model, inputs, {}, sites, {})
    (result,) = run_probes(subject, [name], "inference_mode", None, lambda name: None, type(model), quick=False)
    return result, sites


def made(cls: Any) -> tuple[nn.Module, tuple[Any, ...]]:
    torch.manual_seed(1)
    model = cls().eval()
    return model, model.inputs()


@pytest.mark.parametrize("cls", models(separate_models) + models(separate_layers))
def test_samples_that_are_kept_apart_raise_no_alarm(cls: Any) -> None:
    result, _ = probe(*made(cls))

    assert result.verdict == getattr(cls, "verdict", PASSED), result


@pytest.mark.parametrize("cls", models(coupled_models) + models(coupled_layers))
def test_the_line_that_mixes_samples_is_found(cls: Any) -> None:
    result, sites = probe(*made(cls))

    assert result.verdict == FAILED, result
    lines, start = inspect.getsourcelines(cls)
    marked = {start + offset for offset, line in enumerate(lines) if line.rstrip().endswith("# mixes")}
    rows = {sites.sites[culprit.site].frame.row for culprit in result.culprits if culprit.site is not None}
    assert rows, "a culprit has a source line"
    assert all(any(abs(row - line) <= 1 for line in marked) for row in rows), (rows, marked)


def test_a_constant_answer_is_no_proof() -> None:
    class Constant(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.ones(len(x), 3)

    result, _ = probe(Constant(), (torch.randn(4, 8),))

    assert (result.verdict, result.live) == (VACUOUS, False)
