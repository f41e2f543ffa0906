"""The Python API, in this process: what it finds, and that it leaves everything as it was."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import modellint
from modellint.settings import SettingsError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402, N812
from torch import nn  # noqa: E402

LINES = Path(__file__).read_text("utf-8").splitlines()
ROW = next(row for row, line in enumerate(LINES, 1) if line.endswith("# the dropout"))


class Net(nn.Module):
    def __init__(self, always: bool = False) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 8)
        self.norm = nn.BatchNorm1d(8)
        self.always = always

    def forward(self, x: Any, scale: float = 1.0) -> Any:
        x = self.norm(self.inner(x)) * scale
        return F.dropout(x, training=self.training or self.always)  # the dropout


class Failing(nn.Module):
    def forward(self, x: Any) -> Any:
        raise RuntimeError("no such shape")


@pytest.fixture(autouse=True)
def _no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".modellint.yaml").write_text("{}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def _codes(model: nn.Module, *inputs: Any, **kwargs: Any) -> dict[str, int]:
    return {finding.code: finding.span.start.row for finding in modellint.inspect(model, *inputs, **kwargs)}


def test_a_model_in_evaluation_mode_is_silent() -> None:
    assert _codes(Net().eval(), torch.randn(4, 8)) == {}


def test_keyword_arguments_are_the_models() -> None:
    assert _codes(Net().eval(), torch.randn(4, 8), scale=2.0) == {}


def test_importing_the_package_or_the_plugin_does_not_import_torch() -> None:
    code = (
        "import sys, modellint; light = set(sys.modules); import modellint.pytest_plugin; "
        "print('torch' in sys.modules, 'yaml' in sys.modules, 'modellint.api' in light)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "False"]


def test_a_dropout_that_is_always_on_stands_at_its_line() -> None:
    (finding,) = modellint.inspect(Net(always=True).eval(), torch.randn(4, 8))

    assert (finding.code, finding.span.start.row, finding.filename) == ("ML601", ROW, str(Path(__file__).resolve()))


def test_a_model_of_torchs_own_classes_stands_where_it_is_inspected() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout())
    findings = modellint.inspect(model, torch.randn(4, 8))

    assert [finding.code for finding in findings] == ["ML601"]
    assert findings[0].filename == str(Path(__file__).resolve())
    assert "modellint.inspect(model" in LINES[findings[0].span.start.row - 1]


def test_a_forward_that_raises_is_a_finding() -> None:
    (finding,) = modellint.inspect(Failing(), torch.randn(4, 8))

    assert finding.code == "ML003"
    assert "no such shape" in finding.message


def test_a_configuration_of_the_working_directory_counts(tmp_path: Path) -> None:
    (tmp_path / ".modellint.yaml").write_text("ignore: [ML601]\n", encoding="utf-8")

    assert _codes(Net(always=True).eval(), torch.randn(4, 8)) == {}


def test_everything_is_put_back() -> None:
    model, x = Net(), torch.randn(4, 8)
    model.inner.eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    states = (torch.get_rng_state(), random.getstate(), x.clone(), torch.is_grad_enabled())
    modellint.inspect(model, x)

    assert [module.training for module in model.modules()] == [True, False, True]
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert torch.equal(states[0], torch.get_rng_state())
    assert (random.getstate(), torch.is_grad_enabled()) == (states[1], states[3])
    assert torch.equal(x, states[2])
    assert not x.requires_grad
    assert not model._forward_hooks
    assert all(parameter.grad is None for parameter in model.parameters())
    assert "ML601" in _codes(model, x)  # and again: nothing of the first inspection is left


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(TypeError, match="not list"):
        modellint.inspect([nn.Linear(2, 2)], torch.randn(4, 8))  # type: ignore[arg-type]


def test_a_lazy_module_is_refused_and_keeps_waiting() -> None:
    model = nn.Sequential(nn.LazyLinear(3))
    with pytest.raises(ValueError, match="lazy"):
        modellint.inspect(model, torch.randn(4, 8))
    assert isinstance(model[0], nn.LazyLinear)


def test_a_broken_configuration_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".modellint.yaml").write_text("ignore: [ML999]\n", encoding="utf-8")
    with pytest.raises((SettingsError, ValueError), match="ML999"):
        modellint.inspect(Net(), torch.randn(4, 8))


def test_there_is_no_other_attribute() -> None:
    with pytest.raises(AttributeError, match="inspekt"):
        _ = modellint.inspekt  # type: ignore[attr-defined]
