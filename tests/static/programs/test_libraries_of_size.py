"""What eighteen libraries of size and twelve more taught: interpreters, other frameworks, models that may be dicts."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

RULES = ("ML103", "ML201")

INTERPRETER = """
import torch
from torchvision.models import resnet18
{imported}

class Speedup{base}:
    def __init__(self):
        self.model = resnet18(weights="DEFAULT")
        self.model.eval()

    def propagate(self, nodes, x):
        return [getattr(self, node.op)(x).argmax(-1).tolist() for node in nodes]{mark}
"""
FROZEN = """
import {framework} as tf

class Checkpoint:
    def save(self, shape):
        self.trainer.model.training = False
        output = self.trainer.model(tf.placeholder(shape)){mark}
        print(output.argmax(-1).tolist())
"""
TRAINER = """
import torch
from torch import nn

class Trainer:
    def __init__(self, loader):
        self.model = nn.Sequential(nn.Linear(8, 8), nn.Dropout())
        self.optimizer = torch.optim.SGD(self.model.parameters())
        self.loader = loader

    @torch.no_grad()
    def validate(self):
        if isinstance(self.model, {kind}):
            for key in self.model.keys():
                self.model[key].eval()
        else:
            self.model.eval()
        print(sum(self.model(x).sum().item() for x, _ in self.loader))

    def train_epoch(self):
        if isinstance(self.model, {kind}):
            for key in self.model.keys():
                self.model[key].train()
        else:
            self.model.train()
        for x, y in self.loader:
            self.optimizer.zero_grad()
            nn.functional.cross_entropy(self.model(x), y).backward(){mark}
            self.optimizer.step()

    def fit(self):
        for _ in range(3):
            self.train_epoch()
            self.validate()
"""

SILENT = {
    "a method that an interpreter inherits, by its name": INTERPRETER.format(
        imported="from torch.fx import Interpreter", base="(Interpreter)", mark=""
    ),
    "a graph of another framework": FROZEN.format(framework="tensorflow", mark=""),
    "a model that is no dict": TRAINER.format(kind="dict", mark=""),
}
FOUND = {
    "an attribute, by its name": INTERPRETER.format(
        imported="from sklearn.base import BaseEstimator", base="(BaseEstimator)", mark="  # ML201"
    ),
    "a model of torch beside something else": FROZEN.format(framework="tables", mark="  # ML201"),
    "a model that may be of another kind": TRAINER.format(kind="Ensemble", mark="  # ML103"),
}


@pytest.mark.parametrize("name", SILENT)
def test_right(lint: Lint, name: str) -> None:
    lint(SILENT[name], rules=RULES)


@pytest.mark.parametrize("name", FOUND)
def test_wrong(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=RULES)
