"""After a trace the model is bit for bit what it was, also when its forward raised."""

from __future__ import annotations

import random
from typing import Any

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

from torch import nn  # noqa: E402

from modellint.runtime.capture.ladder import Capture, capture  # noqa: E402
from modellint.runtime.capture.sites import SiteTable  # noqa: E402
from modellint.runtime.capture.subject import Subject  # noqa: E402


class Restless(nn.Module):
    """Changes everything that a forward can change."""

    def __init__(self, fail: bool = False) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.frozen = nn.BatchNorm1d(4).eval()
        self.register_buffer("count", torch.zeros(()))
        self.log: list[int] = []
        self.seen: dict[str, int] = {}
        self.generator = torch.Generator().manual_seed(1)
        self.rng = numpy.random.default_rng(1)
        self.fail = fail

    def forward(self, x: Any) -> Any:
        self.count += 1
        self.log.append(1)
        self.seen["x"] = 1
        self.cache = x * 2
        self.register_buffer("late", torch.ones(2))
        self.norm.eval()
        x = self.norm(self.fc(x)) + torch.rand(4) + torch.rand(4, generator=self.generator)
        self.norm.train()
        x = self.norm(x) + random.random() + numpy.random.rand() + self.rng.random()
        with torch.no_grad():
            self.fc.weight.mul_(2)
            self.fc.bias.data.add_(1)
        self.fc.weight.requires_grad_(False)
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float64)
        torch.backends.cudnn.benchmark = True
        self.frozen.train()
        self.head = nn.Linear(4, 4)
        if self.fail:
            raise ValueError("no")
        return self.head(x.double())


def _photograph(model: Restless) -> dict[str, Any]:
    return {
        "state": {name: tensor.clone() for name, tensor in model.state_dict().items()},
        "versions": None,
        "modes": {name: module.training for name, module in model.named_modules()},
        "requires": {name: parameter.requires_grad for name, parameter in model.named_parameters()},
        "attributes": sorted(vars(model)),
        "containers": (list(model.log), dict(model.seen)),
        "identities": {name: id(tensor) for name, tensor in model.named_parameters()},
        "torch": torch.get_rng_state(),
        "own": model.generator.get_state(),
        "rng": repr(model.rng.bit_generator.state),
        "python": random.getstate(),
        "numpy": repr(numpy.random.get_state()),
        "flags": (torch.is_grad_enabled(), torch.get_default_dtype(), torch.backends.cudnn.benchmark),
        "hooks": (len(nn.modules.module._global_forward_hooks), len(nn.modules.module._global_forward_pre_hooks)),
        "marks": [name for name, p in model.named_parameters() if "taint" in str(vars(p))],
    }


def _same(before: Any, after: Any) -> bool:
    if isinstance(before, dict):
        return bool(before.keys() == after.keys()) and all(_same(before[key], after[key]) for key in before)
    return torch.equal(before, after) if isinstance(before, torch.Tensor) else bool(before == after)


def _capture(model: nn.Module) -> Capture:
    x = torch.ones(3, 4)
    sites = SiteTable(())
    subject = Subject(model, model, (x,), {}, sites, {})
    return capture(subject, model, sites, {}, method="forward", given=True, why_not="", second_forward=9.0)


@pytest.mark.parametrize("fail", [False, True], ids=["the forward returns", "the forward raises"])
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
def test_nothing_of_the_model_or_the_process_is_changed(fail: bool, training: bool) -> None:
    model = Restless(fail).train(training)
    model.frozen.eval()
    before = _photograph(model)

    found = _capture(model)

    after = _photograph(model)
    for name in before:
        assert _same(before[name], after[name]), name
    assert found.levels[0].answered is not fail
    assert (found.failure is not None) is fail


def test_what_the_forward_draws_from_is_found_although_everything_is_put_back() -> None:
    found = _capture(Restless().eval())

    assert {draw.source for draw in found.hidden_draws} == {"random", "numpy.random", "rng"}
    assert {op.name for op in found.ops if op.live} >= {"aten.rand.default", "aten.rand.generator"}


def test_a_model_that_fails_only_under_inference_mode_is_recorded_all_the_same() -> None:
    class Slope(nn.Module):
        def forward(self, x: Any) -> Any:
            with torch.enable_grad():
                x = x.detach().requires_grad_()
                return torch.autograd.grad((x**2).sum(), x)[0]

    found = _capture(Slope())

    assert found.levels[0].answered
    assert found.levels[0].reason == "under no_grad"


class Rewriting(nn.Module):
    """Puts other memory behind its weights, and keeps what cannot be compared."""

    def __init__(self, fail: bool) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.fail = fail
        self.register_buffer("edges", torch.eye(4).to_sparse())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.fc.weight.data = self.fc.weight.data * 1.5
        if self.fail:
            raise RuntimeError("after the damage")
        return self.fc(torch.sparse.mm(self.edges, x.T).T)


@pytest.mark.parametrize("fail", [False, True], ids=["the forward returns", "the forward raises"])
def test_memory_put_behind_a_weight_is_taken_out_again(fail: bool) -> None:
    model = Rewriting(fail).eval()
    weight, before, place = model.fc.weight, model.fc.weight.detach().clone(), model.fc.weight.data_ptr()

    subject = Subject(model, model, (torch.ones(3, 4),), {}, SiteTable(()), {})
    found = capture(subject, model, subject.sites, {}, method="forward", given=True, why_not="", second_forward=9.0)

    assert found.levels[0].answered is not fail
    assert model.fc.weight is weight
    assert weight.data_ptr() == place
    assert torch.equal(weight, before)
    model.fail = False
    model(torch.ones(3, 4)).sum().backward()
