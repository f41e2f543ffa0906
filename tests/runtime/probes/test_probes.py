"""The other probes, in process: what is right passes, and what is wrong is named where it begins."""

from __future__ import annotations

import copy
import inspect
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from modellint.runtime.capture.sites import SiteTable  # noqa: E402
from modellint.runtime.capture.subject import Subject  # noqa: E402
from modellint.runtime.probes.names import PROBES, ProbeNameError, parse_probes  # noqa: E402
from modellint.runtime.probes.result import FAILED, PASSED, SECOND_CALL, SKIPPED, VACUOUS, ProbeResult  # noqa: E402
from modellint.runtime.probes.run import run_probes  # noqa: E402
from tests.runtime.probes import separate_layers, separate_models  # noqa: E402
from tests.runtime.probes.test_neighbours import made, models, probe  # noqa: E402

pytestmark = pytest.mark.torch
ROOT = Path(__file__).parents[3]


def results(model: nn.Module, inputs: tuple[Any, ...], names: str, **options: Any) -> dict[str, ProbeResult]:
    kwargs = options.pop("kwargs", {})
    again = options.pop("again", lambda: copy.deepcopy(model))
    subject = Subject(model, model, inputs, kwargs, SiteTable((ROOT,)), {})
    budget = options.pop("budget", None)
    quick = options.pop("quick", True)
    found = run_probes(subject, parse_probes(names), "inference_mode", budget, lambda _: None, again, quick=quick)
    return {result.probe: result for result in found}


@pytest.mark.parametrize("cls", models(separate_models) + models(separate_layers))
def test_right_models_raise_no_alarm_in_any_probe(cls: Any) -> None:
    model, inputs = made(cls)

    found = results(model, inputs, "repeat,neighbours,alone,reload,layout,padding,threads,export")

    failed = {name for name, result in found.items() if result.verdict == FAILED}
    assert failed == ({"repeat"} if getattr(cls, "draws", False) else set()), found


def test_the_default_probes_take_at_most_fifteen_forwards() -> None:
    model, inputs = made(separate_models.BatchNormInEvaluation)

    found = results(model, inputs, "default")

    assert sum(result.forwards for result in found.values()) <= 15
    assert {result.verdict for result in found.values()} == {PASSED}


def test_the_forwards_that_the_documentation_tells_are_run() -> None:
    text = (ROOT / "docs" / "probes.md").read_text(encoding="utf-8")
    told = {
        name: [int(number) for number in re.findall(r"\d+", cells.split("|")[3].replace("outside", ""))]
        for line in text.splitlines()
        if line.startswith("| `")
        for name, cells in [re.match(r"\| `(\w+)`(.*)", line).groups()]  # type: ignore[union-attr]
    }
    model, inputs = made(separate_models.BatchNormInEvaluation)

    quick = {name: found.forwards for name, found in results(model, inputs, "default").items()}
    whole = {name: found.forwards for name, found in results(model, inputs, "all", quick=False).items()}

    assert (quick["repeat"], quick["neighbours"], quick["reload"]) == tuple(
        told[name][0] for name in ("repeat", "neighbours", "reload")
    )
    assert whole["neighbours"] == told["neighbours"][1]
    assert all(min(told[name]) <= whole[name] <= max(told[name]) for name in ("alone", "layout", "threads", "padding"))


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


class Memory:
    """What the caller hands in, and the forward adds to."""

    def __init__(self) -> None:
        self.seen: list[Any] = []


class AddsToAMemory(Tied):
    def forward(self, x: Any, memory: Memory) -> Any:
        memory.seen.append(self.embed(x))
        return self.head(sum(memory.seen))


def test_an_argument_with_a_state_is_handed_in_anew_each_time() -> None:
    memory = Memory()
    inputs = torch.randint(0, 20, (4, 5)), memory

    found = results(AddsToAMemory(), inputs, "default", again=AddsToAMemory)

    assert {name: result.verdict for name, result in found.items()} == dict.fromkeys(found, PASSED)
    assert memory.seen == []


def test_tied_weights_survive_a_reload() -> None:
    assert results(Tied(), (torch.randint(0, 20, (2, 5)),), "reload", again=Tied)["reload"].verdict == PASSED


def test_an_attribute_that_is_not_saved_is_named() -> None:
    found = results(Projected(), (torch.randn(2, 8),), "reload", again=Projected)["reload"]

    assert found.verdict == FAILED
    assert found.details["not saved"] == ["matrix"]
    assert found.culprits[0].op.startswith("aten.m")


class DrawsATableOnce(nn.Module):
    """The first forward draws what all of them use, and `state_dict()` does not hold."""

    seed: int | None = None

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.table: Any = None

    def forward(self, x: Any) -> Any:
        if self.table is None:
            draw = torch.Generator()
            draw.manual_seed(self.seed if self.seed is not None else int(torch.randint(1 << 30, ())))
            self.table = torch.randn(8, generator=draw)
        return self.fc(x) + self.table


class DrawsAKnownTable(DrawsATableOnce):
    seed = 3


class DrawsEachTime(DrawsATableOnce):
    def forward(self, x: Any) -> Any:
        return self.fc(x) + torch.randn(8)


@pytest.mark.parametrize("cls", [DrawsAKnownTable, DrawsEachTime])
def test_what_a_forward_draws_is_no_matter_of_saving(cls: Any) -> None:
    assert results(cls(), (torch.randn(2, 8),), "reload", again=cls)["reload"].verdict == PASSED


def test_what_the_first_forward_draws_and_keeps_is_lost_on_the_way() -> None:
    found = results(DrawsATableOnce(), (torch.randn(2, 8),), "reload", again=DrawsATableOnce)["reload"]

    assert (found.verdict, found.details[SECOND_CALL]) == (FAILED, "under other seeds")
    assert "randint" in found.culprits[0].op


def test_a_target_that_is_no_factory_is_skipped() -> None:
    model = Tied()

    found = results(model, (torch.randint(0, 20, (2, 5)),), "reload", again=lambda: model)["reload"]

    assert found.verdict == SKIPPED


class AsksHowItLies(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 6)

    def forward(self, x: Any) -> Any:
        y = self.fc(x)
        if not x.is_contiguous():
            y = y * 0.99  # only elsewhere in memory
        return y


class ReadsTheMemoryOfALayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 6)

    def forward(self, x: Any) -> Any:
        y = self.fc(x)
        z = torch.as_strided(x * 2, x.shape, (24, 6, 1))  # only elsewhere in memory
        return y + z.tanh()


class ReadsTheMemoryBehindACopy(nn.Module):
    def forward(self, x: Any) -> Any:
        good = torch.as_strided(x.contiguous(), x.shape, (24, 6, 1))
        bad = torch.as_strided(x, x.shape, (24, 6, 1))  # only elsewhere in memory
        return good.tanh() + bad.sin()


@pytest.mark.parametrize("cls", [AsksHowItLies, ReadsTheMemoryOfALayer, ReadsTheMemoryBehindACopy])
def test_the_line_that_looks_at_the_layout_is_found_behind_a_layer_made_up_of_other_operations(cls: Any) -> None:
    found, sites = probe(cls().eval(), (torch.randn(2, 4, 6),), "layout")

    lines, start = inspect.getsourcelines(cls)
    (row,) = (
        start + offset for offset, line in enumerate(lines) if line.rstrip().endswith("# only elsewhere in memory")
    )
    assert found.verdict == FAILED
    assert {sites.sites[c.site].frame.row for c in found.culprits if c.site is not None} == {row}, found.culprits


def test_no_mask_means_no_padding_probe() -> None:
    assert results(nn.Linear(8, 2), (torch.randn(2, 8),), "padding")["padding"].verdict == VACUOUS


class Differs(nn.Module):
    def forward(self, x: Any) -> Any:
        x = x * 2
        if torch.compiler.is_compiling():
            x = x.cos()
        return x + 1


class Adds(nn.Module):
    def forward(self, x: Any) -> Any:
        x = x * 2
        if not torch.compiler.is_compiling():
            x = x + 0.25  # only eager
        return x.cos()


class AddsAtTheEnd(nn.Module):
    def forward(self, x: Any) -> Any:
        x = x * 2
        if not torch.compiler.is_compiling():
            x = x + 0.25  # only eager
        return x


class DiffersBehindAnotherWay(nn.Module):
    """The first way is another one for the compiler, with the same numbers but for rounding; the second is wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 64), nn.Linear(64, 4)
        nn.init.normal_(self.first.weight)

    def forward(self, x: Any) -> Any:
        parts = (x,) if torch.compiler.is_compiling() else x.split(1)
        x = torch.cat([self.first(part) for part in parts])
        kind = "tanh" if torch.compiler.is_compiling() else "none"
        x = nn.functional.gelu(x, approximate=kind)  # only eager is right
        return self.second(x)


@pytest.mark.parametrize("cls", [Adds, AddsAtTheEnd, DiffersBehindAnotherWay])
@pytest.mark.parametrize("name", ["export", "aot_eager"])
def test_a_line_that_only_eager_runs_is_found(name: str, cls: Any) -> None:
    sites = SiteTable((ROOT,))
    model = cls()
    subject = Subject(model, model, (torch.randn(2, 4),), {}, sites, {})

    (found,) = run_probes(subject, [name], "inference_mode", None, lambda _: None, cls, quick=False)

    lines, start = inspect.getsourcelines(cls)
    row = start + next(offset for offset, line in enumerate(lines) if "only eager" in line)
    assert found.verdict == FAILED, found
    assert [sites.sites[culprit.site].frame.row for culprit in found.culprits if culprit.site is not None] == [row]


def test_random_numbers_fall_otherwise_in_another_layout() -> None:
    class Drops(nn.Module):
        def forward(self, x: Any) -> Any:
            return nn.functional.dropout(x.cos(), 0.5, training=True)

    found = results(Drops(), (torch.randn(2, 6, 8),), "layout")["layout"]

    assert (found.verdict, "random numbers" in found.reason) == (VACUOUS, True), found


def test_the_line_that_reads_the_number_of_threads_is_found() -> None:
    class Shares(nn.Module):
        def forward(self, x: Any) -> Any:
            x = x.cos()
            return x / torch.get_num_threads()

    found = results(Shares(), (torch.randn(2, 4),), "threads")["threads"]

    assert (found.verdict, [culprit.op for culprit in found.culprits]) == (FAILED, ["aten.div.Tensor"])


class Translates(nn.Module):
    """An encoder with a mask, and a decoder that looks at every word it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 8)

    def forward(self, input_ids: Any, attention_mask: Any, decoder_input_ids: Any) -> Any:
        mask = attention_mask[..., None]
        memory = (self.embed(input_ids) * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True)
        target = self.embed(decoder_input_ids)
        return target - target.mean(1, keepdim=True) + memory


def test_a_mask_of_the_encoder_says_nothing_about_the_decoder() -> None:
    ids = torch.randint(1, 50, (2, 9))
    given = {"attention_mask": torch.ones(2, 9, dtype=torch.long), "decoder_input_ids": ids.flip(1)}

    assert results(Translates(), (ids,), "padding", kwargs=given)["padding"].verdict == PASSED


class Pads(nn.Module):
    def __init__(self, from_the_left: bool, leaks: bool = False) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 8)
        self.place = nn.Embedding(20, 8)
        self.from_the_left = from_the_left
        self.leaks = leaks

    def forward(self, input_ids: Any, attention_mask: Any) -> Any:
        counted = (attention_mask.cumsum(1) - 1).clamp(min=0)
        where = torch.arange(input_ids.shape[1]).expand_as(input_ids) if self.from_the_left else counted
        x = self.embed(input_ids) + self.place(where)
        mask = torch.ones_like(attention_mask) if self.leaks else attention_mask
        return x + (x * mask[..., None]).sum(1, keepdim=True) / attention_mask.sum(1)[:, None, None]


@pytest.mark.parametrize("from_the_left", [False, True])
def test_padding_on_the_left_is_told_and_is_no_leak(from_the_left: bool) -> None:
    torch.manual_seed(1)
    given = {"attention_mask": torch.ones(2, 9, dtype=torch.long)}

    found = results(Pads(from_the_left), (torch.randint(1, 50, (2, 9)),), "padding", kwargs=given)["padding"]

    assert found.verdict == PASSED, found
    assert ("on the left" in found.reason) == from_the_left
    assert (found.details["padded on the left"] > 1e-3) == from_the_left


def test_what_stands_under_the_mask_must_not_count() -> None:
    given = {"attention_mask": torch.ones(2, 9, dtype=torch.long)}

    found = results(Pads(False, True), (torch.randint(1, 50, (2, 9)),), "padding", kwargs=given)["padding"]

    assert found.verdict == FAILED


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
