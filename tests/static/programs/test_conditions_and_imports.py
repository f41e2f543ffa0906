"""What a condition, an import or the attribute that keeps a function says of a mode or of autograd."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

NORMS = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width, norm={DEFAULT}):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3)
        if norm:
            if norm == "group":
                self.norm = nn.GroupNorm(1, width)
            elif norm == "batch":
                self.norm = nn.BatchNorm2d(width)
        else:
            self.norm = nn.Identity()

    def forward(self, x):
        return self.norm(self.conv(x))

class Net(nn.Module):
    def __init__(self, width, norm={DEFAULT}):
        super().__init__()
        self.blocks = nn.Sequential(Block(width, norm=norm), Block(width, norm=None))

    def forward(self, x):
        return self.blocks(x)

def main(x):
    net = Net({GIVEN})
    net.load_state_dict(torch.load("net.pt", weights_only=True))
    with torch.no_grad():
        print(net(x).argmax(1)){MARK}

main(load())
"""

MEANT = """
import torch

class Tester:
    def __init__(self, model, cfg):
        self.model = model
        self.cfg = cfg

    @torch.no_grad()
    def evaluate(self, loader):
        if self.cfg.{OPTION}:
            self.model.train()
        {OTHER}
        for x in loader:
            print(self.model(x).argmax(1)){MARK}
"""

ROLLOUT = """
import torch

class Algorithm:
    @torch.no_grad()
    def {NAME}(self, states):
        scores = self.actor(states)
        return scores.argmax(1).numpy(){MORE}

    def train(self, states, advantages):
        loss = -(self.actor(states) * advantages).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
"""

KEPT = """
import torch

class Runner:
    def __init__(self, model, loader):
        self.model = model
        self.loader = loader
        self.step = self._make_step()

    def _make_step(self):
        def step(x, y):
            self.model.eval()
            return (self.model(x).argmax(1) == y).sum().item(){MARK}

        return step

    def run(self):
        {SWITCH}
            return self._all()

    def _all(self):
        step = self.step if self.loader else None
        return [step(x, y) for x, y in self.loader]
"""

SETTINGS = """
import torch

torch.set_grad_enabled({STATE})

def load():
    return torch.zeros(1)
"""

BENCHMARK = """
import torch
import {IMPORTED}
from torchvision.models import resnet18

net = resnet18(weights="DEFAULT").eval()
print(net({IMPORTED}.load()).argmax(1)){MARK}
"""


@pytest.mark.parametrize(
    ("default", "given", "severity"),
    [
        ("'group'", "8", "info"),
        ("'group'", "8, norm='group'", "info"),
        ("'group'", "8, norm=None", "info"),
        ("'group'", "8, norm='batch'", "error"),
        ("'batch'", "8", "error"),
        ("None", "8", "info"),
    ],
)
def test_a_norm_that_two_conditions_pick(default: str, given: str, severity: str, lint: Lint) -> None:
    program = NORMS.replace("{DEFAULT}", default).replace("{GIVEN}", given)
    lint(program.replace("{MARK}", f"  # ML101:{severity}"), rules=["ML101"])


@pytest.mark.parametrize(("option", "mark"), [("mc_dropout", ""), ("verbose", "  # ML101")])
def test_training_mode_under_a_condition_that_names_what_it_is_for(option: str, mark: str, lint: Lint) -> None:
    other = "else:\n            raise ValueError(self.cfg)"
    program = MEANT.replace("{OPTION}", option).replace("{OTHER}", other)
    lint(program.replace("{MARK}", mark), rules=["ML101"])


@pytest.mark.parametrize("name", ["get_rollout", "collect_trajectories"])
def test_rollouts_are_gathered_for_training(name: str, lint: Lint) -> None:
    lint(ROLLOUT.replace("{NAME}", name).replace("{MORE}", ""), rules=["ML101"])


@pytest.mark.parametrize(("switch", "mark"), [("with torch.no_grad():", ""), ("if self.model:", "  # ML201")])
def test_a_function_that_an_object_keeps_is_run_by_another_method(switch: str, mark: str, lint: Lint) -> None:
    lint(KEPT.replace("{SWITCH}", switch).replace("{MARK}", mark), rules=["ML201"])


@pytest.mark.parametrize(
    ("state", "imported", "mark"),
    [("False", "settings", ""), ("True", "settings", "  # ML201"), ("False", "others", "  # ML201")],
)
def test_a_file_that_is_imported_switches_autograd_off(state: str, imported: str, mark: str, lint: Lint) -> None:
    files = {
        "settings.py": SETTINGS.replace("{STATE}", state),
        "others.py": "import torch\n\ndef load():\n    return torch.zeros(1)\n",
        "app.py": BENCHMARK.replace("{IMPORTED}", imported).replace("{MARK}", mark),
    }
    lint(files, check=["app.py"], rules=["ML201"])
