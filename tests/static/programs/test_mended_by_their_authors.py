"""Shapes of defects that their authors mended and that were missed before, and the correct code beside them."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

RULES = ["ML101", "ML201"]

ESTIMATOR = """
import numpy as np
import torch

class Estimator:
    def __init__(self, model, criterion):
        self.model = self.wrapped(model)
        self.criterion = criterion

    def predict(self, x):
        self.model.eval()
        results = np.zeros((len(x), 10))
        for row in range(len(x)):
            outputs = self.model(torch.from_numpy(x[row]))  # {mark}
            {keep}
        return results

    def loss_gradient(self, x, y):
        inputs = torch.from_numpy(x)
        inputs.requires_grad = True
        loss = {loss}
        loss.backward()
        return inputs.grad.numpy()
"""
OWN_LOSS = "self.criterion(self.model(inputs)[-1], y)"

SEARCH = """
from searching import fmin
from evaluation import Evaluator

def objective(space):
    evaluator = Evaluator(space["model"])
    return evaluator.evaluate(space["loader"])

def search(space):
    return fmin(objective, space)

def main(model, loader):
    {main}
"""
EVALUATOR = """
class Evaluator:
    def __init__(self, model):
        self.model = model

    def evaluate(self, loader):
        self.model.eval()
        right = 0
        for x, y in loader:
            right += (self.model(x).argmax(1) == y).sum().item()  # {mark}
        return right
"""

MIXED_PRECISION = """
import numpy as np
import torch
from apex import amp

class Recogniser:
    def __init__(self, model, optimizer, use_amp):
        self.model = model
        self.optimizer = optimizer
        if use_amp:
            self.model, self.optimizer = amp.initialize({given})

    def predict(self, batches):
        {ready}
        results = []
        for x in batches:
            with torch.no_grad():
                outputs, sizes = self.model(x)  # {mark}
            results.append(outputs.detach().cpu().numpy())
        return np.stack(results)

    def fit(self, batches, targets):
        self.model.train()
        for x, y in zip(batches, targets):
            loss = (self.model(x)[0] - y).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
"""
BY_KEYWORD = "models=self.model, optimizers=self.optimizer, opt_level='O1'"

EITHER = """
import torch
from somewhere import engine

def predict(net, batches, fast):
    net.eval()
    run = engine(net) if fast else net
    for x in batches:
        {use}  # {mark}
"""

FRAMEWORK = """
import torch
from torch import nn

class Framework(nn.Module):
    def __init__(self, model, loader):
        super().__init__()
        self.model = nn.DataParallel(model)
        self.optimizer = torch.optim.SGD(model.parameters(), 0.1)
        self.loader = loader

    {forward}

    def train_model(self):
        self.train()
        for x, y in self.loader:
            loss = nn.functional.cross_entropy(self.model(x), y)
            {learn}
            self.optimizer.step()
            self.optimizer.zero_grad()

    def eval_model(self, loader):
        self.eval()
        with torch.no_grad():
            return [self.model(x).argmax(-1).tolist() for x, _ in loader]

    def {name}(self, x):
        return self.model(x).max(-1)[1].item()  # {mark}
"""

HELD = """
import torch
from somewhere import Runner

def evaluate(runner, loader):
    right = 0
    for x, y in loader:
        with {around}:
            right += ({call}(x).detach().argmax(1) == y).sum().item()  # {mark}
    return right

def main(loader):
    runner = Runner()
    print(evaluate(runner, loader))

main(torch.load("batches.pt"))
"""


def search(main: str, mark: str) -> dict[str, str]:
    """Return a project that evaluates in a function that it hands to a library, and perhaps elsewhere."""
    return {"search.py": SEARCH.format(main=main), "evaluation.py": EVALUATOR.format(mark=mark)}


SILENT = {
    "what one method computes and another differentiates": ESTIMATOR.format(
        keep="self.loss = outputs.sum(); results[row] = outputs.detach().numpy()", loss="self.loss", mark=""
    ),
    "an element that another method differentiates": ESTIMATOR.format(
        keep="self.losses['x'] = outputs.sum(); results[row] = outputs.detach().numpy()",
        loss="self.losses['x']",
        mark="",
    ),
    "what only a library runs": search("return search({'model': model, 'loader': loader})", ""),
    "wrapped for mixed precision in evaluation mode": MIXED_PRECISION.format(
        given=BY_KEYWORD, ready="self.model.eval()", mark=""
    ),
    "a module that is run itself": FRAMEWORK.format(
        forward="def forward(self, x): return self.model(x)", name="infer", learn="loss.backward()", mark=""
    ),
    "a method that is not named for inference": FRAMEWORK.format(
        forward="", name="step", learn="loss.backward()", mark=""
    ),
    "a module that nobody trains": FRAMEWORK.format(forward="", name="infer", learn="pass", mark=""),
    "a model that something holds, without autograd": HELD.format(
        around="torch.no_grad()", call="runner.model", mark=""
    ),
    "a decoder that something holds": HELD.format(around="torch.device(0)", call="runner.decoder", mark=""),
    "what may be an engine, and is trained": EITHER.format(use="run(x).sum().backward()", mark=""),
}
FOUND = {
    "what one method computes and keeps to itself": ESTIMATOR.format(
        keep="results[row] = outputs[-1].detach().numpy()", loss=OWN_LOSS, mark="ML201"
    ),
    "what is kept where no other method computes a gradient from it": ESTIMATOR.format(
        keep="self.last = outputs.sum(); results[row] = outputs.detach().numpy()", loss=OWN_LOSS, mark="ML201"
    ),
    "what a library runs and the project, too": search("print(Evaluator(model).evaluate(loader))", "ML201"),
    "wrapped for mixed precision by keyword": MIXED_PRECISION.format(given=BY_KEYWORD, ready="pass", mark="ML101"),
    "wrapped for mixed precision": MIXED_PRECISION.format(
        given="self.model, optimizers=self.optimizer", ready="pass", mark="ML101"
    ),
    "a module that only trains and evaluates another": FRAMEWORK.format(
        forward="", name="infer", learn="loss.backward()", mark="ML101, ML201"
    ),
    "a model that something holds": HELD.format(around="torch.device(0)", call="runner.model", mark="ML201"),
    "what may be an engine": EITHER.format(use="print(run(x).argmax(1).tolist())", mark="ML201"),
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(lint: Lint, name: str) -> None:
    lint(SILENT[name], rules=RULES)


@pytest.mark.parametrize("name", FOUND)
def test_found(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=RULES)
