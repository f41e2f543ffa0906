"""The other probes, in process: what is right passes, and what is wrong is named where it begins."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from modellint.runtime.capture.ladder import MODES  # noqa: E402
from modellint.runtime.capture.sites import SiteTable  # noqa: E402
from modellint.runtime.capture.subject import Subject  # noqa: E402
from modellint.runtime.probes.backends import compare_backend, other_model  # noqa: E402
from modellint.runtime.probes.bench import Bench  # noqa: E402
from modellint.runtime.probes.names import PROBES, ProbeNameError, parse_probes  # noqa: E402
from modellint.runtime.probes.result import FAILED, PASSED, SKIPPED, VACUOUS, ProbeResult  # noqa: E402
from modellint.runtime.probes.run import run_probes  # noqa: E402
from tests.runtime.probes import separate_models  # noqa: E402
from tests.runtime.probes.test_neighbours import made, models  # noqa: E402

pytestmark = pytest.mark.torch
ROOT = Path(__file__).parents[3]


def results(model: nn.Module, inputs: tuple[Any, ...], names: str, **options: Any) -> dict[str, ProbeResult]:
    kwargs = options.pop("kwargs", {})
    again = options.pop("again", lambda: copy.deepcopy(model))
    subject = Subject(model, model, inputs, kwargs, SiteTable((ROOT,)), {})
    budget = options.pop("budget", None)
    found = run_probes(subject, parse_probes(names), "inference_mode", budget, lambda _: None, again, quick=True)
    return {result.probe: result for result in found}


@pytest.mark.parametrize("cls", models(separate_models))
def test_right_models_raise_no_alarm_in_any_probe(cls: Any) -> None:
    model, inputs = made(cls)

    found = results(model, inputs, "repeat,neighbours,alone,reload,layout,padding,threads,export")

    assert {name for name, result in found.items() if result.verdict == FAILED} == set(), found


def test_the_default_probes_take_at_most_fifteen_forwards() -> None:
    model, inputs = made(separate_models.BatchNormInEvaluation)

    found = results(model, inputs, "default")

    assert sum(result.forwards for result in found.values()) <= 15
    assert {result.verdict for result in found.values()} == {PASSED}


def test_what_the_budget_leaves_no_time_for_is_skipped() -> None:
    model, inputs = made(separate_models.GroupNorm)

    found = results(model, inputs, "default", budget=1e-9)

    assert {result.verdict for result in found.values()} == {SKIPPED}
    assert "budget" in found["repeat"].reason


def test_names_of_probes() -> None:
    assert parse_probes("reload, repeat") == ("repeat", "reload")
    assert set(parse_probes("default")) == {"repeat", "neighbours", "alone", "reload"}
    assert set(parse_probes("all")) == {name for name, info in PROBES.items() if info.in_all}
    with pytest.raises(ProbeNameError, match="did you mean neighbours"):
        parse_probes("neighbors")


def test_rounding_is_no_dependence_on_the_batch() -> None:
    class Cancels(nn.Module):
        """Takes the difference of nearly equal sums, so that rounding is all that is left of some digits."""

        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(512, 64)

        def forward(self, x: Any) -> Any:
            y = self.first(x)
            return (y * 1e4 + y) - y * 1e4

    torch.manual_seed(0)
    found = results(Cancels(), (torch.randn(5, 512),), "alone")

    assert found["alone"].verdict == PASSED


def test_a_dependence_on_the_batch_size_is_found() -> None:
    class Divides(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.exp() / len(x)

    assert results(Divides(), (torch.randn(4, 8),), "alone")["alone"].verdict == FAILED


def test_a_batch_of_one_that_is_refused_is_told() -> None:
    class Refuses(nn.Module):
        def forward(self, x: Any) -> Any:
            if len(x) == 1:
                raise ValueError("too few")
            return x * 2

    found = results(Refuses(), (torch.randn(4, 8),), "alone")["alone"]

    assert (found.verdict, "too few" in found.reason) == (FAILED, True)


class Projected(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.matrix = torch.randn(8, 8)

    def forward(self, x: Any) -> Any:
        return self.fc(x) @ self.matrix


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.head = nn.Linear(8, 20, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x: Any) -> Any:
        return self.head(self.embed(x))


def test_tied_weights_survive_a_reload() -> None:
    assert results(Tied(), (torch.randint(0, 20, (2, 5)),), "reload", again=Tied)["reload"].verdict == PASSED


def test_an_attribute_that_is_not_saved_is_named() -> None:
    found = results(Projected(), (torch.randn(2, 8),), "reload", again=Projected)["reload"]

    assert found.verdict == FAILED
    assert found.details["not saved"] == ["matrix"]
    assert found.culprits[0].op.startswith("aten.m")


def test_a_target_that_is_no_factory_is_skipped() -> None:
    model = Tied()

    found = results(model, (torch.randint(0, 20, (2, 5)),), "reload", again=lambda: model)["reload"]

    assert found.verdict == SKIPPED


def test_no_mask_means_no_padding_probe() -> None:
    assert results(nn.Linear(8, 2), (torch.randn(2, 8),), "padding")["padding"].verdict == VACUOUS


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.fc1 = nn.Linear(16, 32)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(32, 16)

    def forward(self, x: Any) -> Any:
        return x + self.fc2(self.act(self.fc1(self.norm(x))))


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv1d(4, 16, 3, stride=1, padding=1)
        self.blocks = nn.Sequential(Block(), Block(), Block())
        self.head = nn.Linear(16, 5)

    def forward(self, x: Any) -> Any:
        return self.head(self.blocks(self.stem(x).transpose(1, 2)).mean(1))


def _epsilon(model: Any) -> str:
    model.blocks[1].norm.eps = 1e-1
    return "blocks.1.norm"


def _tanh(model: Any) -> str:
    model.blocks[2].act.approximate = "tanh"
    return "blocks.2.act"


def _rounded(model: Any) -> str:
    weight = model.blocks[0].fc2.weight
    weight.data.copy_(weight.data.half())
    weight.data[3, 4] += 0.02
    return "blocks.0.fc2"


def _unloaded(model: Any) -> str:
    nn.init.normal_(model.blocks[1].fc1.weight)
    return "blocks.1.fc1"


def _stride(model: Any) -> str:
    model.stem.stride = (2,)
    return "stem"


def _nothing(model: Any) -> str:
    return ""


@pytest.mark.parametrize("plant", [_nothing, _epsilon, _tanh, _rounded, _unloaded, _stride])
def test_a_planted_error_of_a_backend_is_found_where_it_is(plant: Callable[[Any], str]) -> None:
    torch.manual_seed(3)
    model = Small().eval()
    other = copy.deepcopy(model)
    wanted = plant(other)
    subject = Subject(model, model, (torch.randn(2, 4, 12),), {}, SiteTable((ROOT,)), {})

    found = compare_backend(Bench(subject, MODES["inference_mode"]), name="export", prepare=other_model(other))

    assert [culprit.module for culprit in found.culprits] == ([wanted] if wanted else [])
    assert found.verdict == (FAILED if wanted else PASSED)


class Differs(nn.Module):
    def forward(self, x: Any) -> Any:
        x = x * 2
        if torch.compiler.is_compiling():
            x = x.cos()
        return x + 1


@pytest.mark.parametrize("name", ["export", "aot_eager"])
def test_a_branch_that_only_a_compiler_takes_is_found_at_its_line(name: str) -> None:
    model = Differs()
    sites = SiteTable((ROOT,))
    subject = Subject(model, model, (torch.randn(2, 4),), {}, sites, {})

    (found,) = run_probes(subject, [name], "inference_mode", None, lambda _: None, partial(Differs), quick=False)

    lines, start = inspect.getsourcelines(Differs)
    row = start + next(offset for offset, line in enumerate(lines) if "cos" in line)
    assert found.verdict == FAILED, found
    assert [sites.sites[culprit.site].frame.row for culprit in found.culprits if culprit.site is not None] == [row]


def test_a_backend_that_cannot_take_the_model_is_skipped() -> None:
    class Branches(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2 if float(x.sum()) > 0 else x

    found = results(Branches(), (torch.randn(2, 4),), "export")["export"]

    assert (found.verdict, "does not take the model" in found.reason) == (SKIPPED, True)
