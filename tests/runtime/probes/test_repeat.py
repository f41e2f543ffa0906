"""ML701, in process: what a call may leave behind, and the line that leaves something that matters."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

from modellint.catalog import ActiveRule, load_rules  # noqa: E402
from modellint.runtime.capture.sites import SiteTable  # noqa: E402
from modellint.runtime.capture.subject import Subject  # noqa: E402
from modellint.runtime.inprocess import observe  # noqa: E402
from modellint.runtime.inspect import inspect_trace  # noqa: E402
from modellint.runtime.probes.result import FAILED, FROM_EVALUATION, PASSED, VACUOUS, ProbeResult  # noqa: E402
from modellint.runtime.probes.run import run_probes  # noqa: E402

pytestmark = pytest.mark.torch


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.register_buffer("center", torch.zeros(8))


class CountsItsCalls(Layer):
    calls = 0

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return self.fc(x)


class MakesATableOnce(Layer):
    table: Any = None

    def forward(self, x: Any) -> Any:
        if self.table is None:
            self.table = torch.arange(8.0).cos()
        return self.fc(x) * self.table


class KeepsWhatItSawLast(Layer):
    def forward(self, x: Any) -> Any:
        self.last = self.fc(x)
        return self.last * 1.0


class StartsItsStateAnew(Layer):
    def forward(self, x: Any) -> Any:
        self.center = torch.zeros(8)
        for row in x:
            self.center = self.fc(self.center + row)
        return self.center


class RectifiesItsInputInPlace(Layer):
    def forward(self, x: Any) -> Any:
        return self.fc(F.relu(x, inplace=True))


class WritesToACopy(Layer):
    def forward(self, x: Any) -> Any:
        x = x.clone()
        x -= 0.5
        return self.fc(x)


class IsHandedItsState(Layer):
    def forward(self, x: Any, state: Any = None) -> Any:
        state += x
        return self.fc(state)


SILENT = [
    CountsItsCalls,
    MakesATableOnce,
    KeepsWhatItSawLast,
    StartsItsStateAnew,
    RectifiesItsInputInPlace,
    WritesToACopy,
]


class FollowsTheDataAfterwards(Layer):
    def forward(self, x: Any) -> Any:
        y = self.fc(x) - self.center
        y = y.relu()
        self.center.lerp_(y.mean(0), 0.1)  # changes
        return y


class LearnsWhileItAnswers(Layer):
    def forward(self, x: Any) -> Any:
        y = self.fc(x)
        self.fc.weight.data.add_(0.01 * x.mean(0))  # changes
        return y


class RemembersItsHiddenState(Layer):
    hidden: Any = None

    def forward(self, x: Any) -> Any:
        y = self.fc(x)
        if self.hidden is not None:
            y = y + self.hidden  # changes
        self.hidden = y
        return y


class KeepsKeysAndValues(Layer):
    """The same tokens again change nothing: each is attended to twice. Others do."""

    cache: Any = None

    def forward(self, x: Any) -> Any:
        keys = x if self.cache is None else torch.cat([self.cache, x])  # changes
        self.cache = keys
        return self.fc(F.scaled_dot_product_attention(x, keys, keys))


class TakesItsInputApart(Layer):
    def forward(self, x: Any) -> Any:
        x -= 0.5  # changes
        return self.fc(x)


class ClearsItsInputWhenDone(Layer):
    def forward(self, x: Any) -> Any:
        y = self.fc(x)
        y = y.relu()
        x.zero_()  # changes
        return y


class CountsInAGlobal(Layer):
    def forward(self, x: Any) -> Any:
        CALLS.append(0)
        return self.fc(x) * len(CALLS)  # changes


CALLS: list[int] = []


def probe(cls: Any, *names: str, **kwargs: Any) -> tuple[dict[str, ProbeResult], SiteTable]:
    torch.manual_seed(1)
    model, sites = cls().eval(), SiteTable((Path(__file__).parents[3],))
    subject = Subject(model, model, (torch.randn(4, 8),), kwargs, sites, {})
    found = run_probes(subject, names or ["repeat"], "inference_mode", None, lambda _: None, cls, quick=True)
    return {result.probe: result for result in found}, sites


@pytest.mark.parametrize("cls", SILENT)
def test_what_does_not_matter_may_change(cls: Any) -> None:
    found, _ = probe(cls)

    assert found["repeat"].verdict == PASSED, found


def test_a_state_that_is_handed_from_call_to_call_may_change() -> None:
    found, _ = probe(IsHandedItsState, state=torch.zeros(4, 8))

    assert found["repeat"].verdict == PASSED, found


@pytest.mark.parametrize(
    "cls",
    [
        FollowsTheDataAfterwards,
        LearnsWhileItAnswers,
        RemembersItsHiddenState,
        KeepsKeysAndValues,
        TakesItsInputApart,
        ClearsItsInputWhenDone,
        CountsInAGlobal,
    ],
)
def test_the_line_that_changes_the_next_answer_is_found(cls: Any) -> None:
    found, sites = probe(cls)

    lines, start = inspect.getsourcelines(cls)
    (row,) = (start + offset for offset, line in enumerate(lines) if line.rstrip().endswith("# changes"))
    culprits = found["repeat"].culprits
    assert found["repeat"].verdict == FAILED, found
    assert {sites.sites[c.site].frame.row for c in culprits if c.site is not None} == {row}, culprits


@pytest.mark.parametrize("cls", [FollowsTheDataAfterwards, LearnsWhileItAnswers, TakesItsInputApart])
def test_what_can_be_put_back_disturbs_no_other_probe(cls: Any) -> None:
    found, _ = probe(cls, "repeat", "neighbours", "alone", "reload", "layout", "threads")

    assert [name for name, result in found.items() if result.verdict == FAILED] == ["repeat"]


def test_what_cannot_be_put_back_leaves_the_other_probes_without_a_proof() -> None:
    found, _ = probe(CountsInAGlobal, "repeat", "neighbours", "alone", "reload", "layout", "threads")

    verdicts = {name: result.verdict for name, result in found.items()}
    assert verdicts.pop("repeat") == FAILED
    assert set(verdicts.values()) == {VACUOUS}, found
    assert "from the same state" in found["alone"].reason


def test_a_model_is_what_it_was_afterwards() -> None:
    torch.manual_seed(1)
    model = LearnsWhileItAnswers().eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    subject = Subject(model, model, (torch.randn(4, 8),), {}, SiteTable(()), {})

    list(run_probes(subject, ["repeat", "neighbours"], "inference_mode", None, lambda _: None, Layer, quick=True))

    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("training", [False, True])
def test_findings_about_the_mode_say_how_far_the_answer_is_from_the_one_in_evaluation_mode(training: bool) -> None:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(0.5)).train(training)
    rules = {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.enabled}

    trace = observe(model, (torch.randn(4, 8),), {}, rules, ["repeat"], inspect.currentframe())  # type: ignore[arg-type]
    told = {
        found.code: found.runtime.evidence.get(FROM_EVALUATION)
        for found in inspect_trace(trace, rules)
        if found.runtime
    }

    assert {"ML601", "ML602"}.issubset(told) == training
    assert all((value or 0.0) > 0.1 for code, value in told.items() if code in ("ML601", "ML602"))
    assert model.training == training
