"""What is measured besides a finding: how much it matters."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from modellint.catalog import ActiveRule, load_rules  # noqa: E402
from modellint.runtime.inprocess import observe  # noqa: E402
from modellint.runtime.inspect.judge import inspect_trace  # noqa: E402

pytestmark = pytest.mark.torch
OFF = "difference from autograd off"


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        return self.fc(x)


class SwitchesAutogradOn(Plain):
    def forward(self, x: Any) -> Any:
        with torch.enable_grad():
            return super().forward(x)


class TakesAnotherWayWithAutograd(Plain):
    """As a module with a fast path for inference does, only further apart."""

    def forward(self, x: Any) -> Any:
        with torch.enable_grad():
            y = super().forward(x)
        return y * 2 if y.requires_grad else y


def evidence(model: nn.Module) -> list[Any]:
    torch.manual_seed(1)
    rules = {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.enabled}
    trace = observe(model.eval(), (torch.randn(4, 8),), {}, rules, [], inspect.currentframe())  # type: ignore[arg-type]
    return [found.runtime.evidence for found in inspect_trace(trace, rules) if found.code == "ML604" and found.runtime]


def test_a_forward_without_a_graph_of_its_own_is_not_measured() -> None:
    assert evidence(Plain()) == []


def test_a_graph_that_changes_nothing_but_memory_differs_by_zero() -> None:
    (found,) = evidence(SwitchesAutogradOn())

    assert (found["graph_bytes"] > 0, found[OFF]) == (True, 0.0)


def test_a_graph_that_changes_the_answer_says_how_far() -> None:
    (found,) = evidence(TakesAnotherWayWithAutograd())

    assert found[OFF] == pytest.approx(1.0)
