"""ML701, in process: what a call may leave behind, and the line that leaves something that matters."""

from __future__ import annotations

import inspect
import itertools
import random
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")
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


class LooksLengthsUpInATable(Layer):
    """The table grows with what it is asked; what it says about a shape is always the same."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[int, Any] = {}

    def forward(self, x: Any) -> Any:
        if len(x) not in self.known:
            self.known[len(x)] = torch.arange(len(x)).float()[:, None]
        return self.fc(x + self.known[len(x)])


class RoundsAnewEachTime(Layer):
    """As atomic additions on a GPU do: what two calls differ by is not the same for any two of them."""

    def __init__(self) -> None:
        super().__init__()
        self.error = itertools.cycle([0.0, 4e-6, 0.0, 2e-5])

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def forward(self, x: Any) -> Any:
        return self.fc(x) * (1 + next(self.error))


SILENT = [
    RoundsAnewEachTime,
    CountsItsCalls,
    MakesATableOnce,
    KeepsWhatItSawLast,
    StartsItsStateAnew,
    RectifiesItsInputInPlace,
    WritesToACopy,
    LooksLengthsUpInATable,
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


class AnswersTheFirstQuestionForEver(Layer):
    """The same input again changes nothing, before and after any other: only a fresh model asked another one does."""

    answer: Any = None

    def forward(self, x: Any) -> Any:
        if self.answer is None:
            self.answer = self.fc(x)  # changes
        return self.answer * 1.0


class MasksByTheFirstLengths(Layer):
    mask: Any = None

    def forward(self, x: Any) -> Any:
        y = self.fc(x)
        if self.mask is None or len(self.mask) != len(x):
            self.mask = x[:, :1] > 0  # changes
        return y * self.mask


class IsScaledByTheFirstBatch(Layer):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("ready", torch.tensor(False))

    def forward(self, x: Any) -> Any:
        y = self.fc(x)
        if not self.ready:
            self.center.copy_(y.mean(0))  # changes
            self.ready.fill_(True)
        return y - self.center


class GoesOnWhereItStopped(Layer):
    """With and without a state to begin with, the recurrent layer is made up of different operations."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(8, 8)
        self.state: Any = None

    def forward(self, x: Any) -> Any:
        y, self.state = self.rnn(x[None], self.state)  # changes
        return self.fc(y[0])


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
        AnswersTheFirstQuestionForEver,
        MasksByTheFirstLengths,
        IsScaledByTheFirstBatch,
        GoesOnWhereItStopped,
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


class DropsOutWithNumpy(Layer):
    def forward(self, x: Any) -> Any:
        keep = (numpy.random.rand(*x.shape) > 0.3).astype("float32")
        return self.fc(x * torch.from_numpy(keep))


class SkipsALayerAtRandom(Layer):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(12))

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            if random.random() < 0.5:
                x = layer(x)
        return x


class RemembersAndDrawsElsewhere(RemembersItsHiddenState):
    def forward(self, x: Any) -> Any:
        noise = torch.from_numpy(numpy.random.rand(8).astype("float32"))
        return super().forward(x) + noise


def explained(cls: Any) -> list[tuple[str, ...]]:
    """Return by what the ML701 findings of a model are explained."""
    torch.manual_seed(1)
    rules = {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.enabled}
    trace = observe(cls().eval(), (torch.randn(4, 8),), {}, rules, ["repeat"], inspect.currentframe())  # type: ignore[arg-type]
    found = [item.runtime for item in inspect_trace(trace, rules) if item.code == "ML701" and item.runtime]
    return [runtime.explained_by for runtime in found]


@pytest.mark.parametrize("cls", [DropsOutWithNumpy, SkipsALayerAtRandom])
def test_a_draw_outside_of_torch_explains_what_it_changes(cls: Any) -> None:
    assert set(explained(cls)) == {("ML603",)}  # one finding or two: the draws are different each time


def test_a_draw_does_not_explain_what_is_remembered() -> None:
    assert () in explained(RemembersAndDrawsElsewhere)


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
