"""Programs as public repositories have them, once with their switches and once with one taken out."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint
from tests.static.programs.networks import NET

RULES = ("ML101", "ML103", "ML201")
COUNTED = """
        import torch
        from torch import nn

        class Statistics:
            def __init__(self, loss=0, words=0):
                self.loss, self.words = loss, words

            def update(self, other):
                self.loss += other.loss
                self.words += other.words

        class Compute(nn.Module):
            def __init__(self, criterion):
                super().__init__()
                self.criterion = criterion

            def forward(self, output, target):
                loss = self.criterion(output, target)
                return loss, Statistics(loss.sum().item(), target.numel())

        class Trainer:
            def __init__(self, model, criterion, optimizer):
                self.model, self.optimizer = model, optimizer
                self.loss = Compute(criterion)

            def train(self, train_iter, valid_iter):
                for batch, target in train_iter:
                    self.model.train()
                    loss, _ = self.loss(self.model(batch), target)
                    loss.backward()
                    self.optimizer.step()
                    self.validate(valid_iter)

            def validate(self, valid_iter):
                {READY}
                with {SWITCH}:
                    total = Statistics()
                    for batch, target in valid_iter:
                        output = self.model(batch){MARK}
                        _, found = self.loss(output, target)
                        total.update(found)
                return total
"""
BASE = """
        import torch
        from abc import ABC, abstractmethod

        class BaseModel(ABC):
            {ABSTRACT}
            def forward(self):
                pass

            def {NAME}(self):
                with {SWITCH}:
                    self.forward(){MARK}
"""
HEIR = """
        import torch
        from torch import nn
        from base import BaseModel

        class PixModel(BaseModel):
            def __init__(self, options):
                self.net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Conv2d(8, 3, 3))
                self.optimizer = torch.optim.Adam(self.net.parameters())

            def set_input(self, batch):
                self.real, self.wanted = batch["A"], batch["B"]

            def forward(self):
                self.fake = self.net(self.real)

            def optimize_parameters(self):
                {TRAINS}
                self.loss = torch.nn.functional.l1_loss(self.fake, self.wanted)
                self.optimizer.zero_grad()
                self.loss.backward()
                self.optimizer.step()
"""
SCRIPT = """
        import torch
        from data import loader
        from models import create_model

        model = create_model()
        for batch in loader:
            model.set_input(batch)
            {CALL}
"""
WINDOWS = """
        import torch
        from monai.inferers import sliding_window_inference
        from net import Net

        def run(loader, val_loader, optimizer, loss_fn):
            model = Net()
            for epoch in range(9):
                model.train()
                for x, y in loader:
                    optimizer.zero_grad()
                    loss_fn(model(x), y).backward()
                    optimizer.step()
                {READY}
                with torch.no_grad():
                    for x, y in val_loader:
                        found = sliding_window_inference(x, 96, 4, {PREDICTOR}, overlap=0.5){MARK}
                        print((found > 0).float().mean().item())
"""
WRAPPED = """
        import torch
        from net import Net

        def nograd(function):
            def wrapped(*args, **kwargs):
                with {SWITCH}:
                    return function(*args, **kwargs)

            return wrapped

        class Detector(Net):
            @nograd
            def predict(self, images):
                {READY}
                return [self(image).argmax(1).cpu().numpy() for image in images]{MARK}
"""
DETECTS = """
        import torch
        from detector import Detector

        def evaluate(loader, detector):
            return [detector.predict(images) for images in loader]

        def main(loader, test_loader, loss_fn):
            detector = Detector()
            optimizer = torch.optim.SGD(detector.parameters(), 0.1)
            for epoch in range(9):
                detector.train()
                for x, y in loader:
                    optimizer.zero_grad()
                    loss_fn(detector(x), y).backward()
                    optimizer.step()
                print(evaluate(test_loader, detector))
"""
GRAPH = """
        import torch
        import torch.nn.functional as F
        from net import Net

        def run(graph, labels, train_idx, val_idx, seeds):
            for seed in seeds:
                net = Net()
                optimizer = torch.optim.Adam(net.parameters())
                for epoch in range(100):
                    net.train()
                    logits = net(graph)
                    loss = F.cross_entropy(logits[train_idx], labels[train_idx])
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    {READY}
                    with torch.no_grad():
                        logits = net(graph){MARK}
                        logp = F.log_softmax(logits, 1)
                        print(F.nll_loss(logp[{PICKED}], labels[{PICKED}]).item())
"""
OPTIONAL = """
        import torch
        from net import Net

        class Classifier:
            def __init__(self):
                self.model = Net()
                self.optimizer = torch.optim.Adam(self.model.parameters())

            def fit(self, loader, loss_fn, val_loader{DEFAULT}):
                for epoch in range(9):
                    self.model.train()
                    for x, y in loader:
                        self.optimizer.zero_grad()
                        loss_fn(self.model(x), y).backward()
                        self.optimizer.step()
                    {CONDITION}
                        self.model.eval()
                        with torch.no_grad():
                            print([self.model(x).argmax(1) for x, _ in val_loader])
                {AFTER}

            @torch.no_grad()
            def predict(self, rows):
                return self.model(rows).argmax(1).cpu().numpy(){MARK}

        def main(loader, rows, loss_fn, val_loader=None):
            classifier = Classifier()
            classifier.fit(loader, loss_fn, val_loader)
            print(classifier.predict(rows))
"""
PICKED_LAYER = """
        import torch
        from torch import nn

        if torch.__version__ == "1.11":
            drop = nn.Dropout3d
        if torch.__version__ >= "1.12":
            drop = nn.{ONE}
        else:
            drop = nn.{OTHER}

        class Model(nn.Module):
            def __init__(self, chance):
                super().__init__()
                self.fc = nn.Linear(8, 2)
                self.drop = drop(chance)

            def forward(self, x):
                return self.drop(self.fc(x))

        model = Model(0.1)
        model.load_state_dict(torch.load("model.pt", weights_only=True))
        {READY}
        with torch.no_grad():
            print(model(torch.rand(4, 8)).argmax(1)){MARK}
"""


def counted(ready: str = "self.model.eval()", switch: str = "torch.no_grad()", mark: str = "") -> dict[str, str]:
    return {"train.py": COUNTED.format(READY=ready, SWITCH=switch, MARK=mark)}


def inherited(
    switch: str = "torch.autocast('cuda')",
    mark: str = "",
    name: str = "test",
    abstract: str = "@abstractmethod",
    trains: str = "self.forward()",
    call: str = "",
) -> dict[str, str]:
    files = {
        "base.py": BASE.format(ABSTRACT=abstract, NAME=name, SWITCH=switch, MARK=mark),
        "pix.py": HEIR.format(TRAINS=trains),
    }
    return files | ({"run.py": SCRIPT.format(CALL=call)} if call else {})


def windows(ready: str = "model.eval()", predictor: str = "lambda part: model(part)", mark: str = "") -> dict[str, str]:
    return {"net.py": NET, "run.py": WINDOWS.format(READY=ready, PREDICTOR=predictor, MARK=mark)}


def wrapped(ready: str = "self.eval()", switch: str = "torch.no_grad()", mark: str = "") -> dict[str, str]:
    files = {"detector.py": WRAPPED.format(READY=ready, SWITCH=switch, MARK=mark), "run.py": DETECTS}
    return {"net.py": NET, **files}


def graph(ready: str = "net.eval()", picked: str = "val_idx", mark: str = "") -> dict[str, str]:
    return {"net.py": NET, "run.py": GRAPH.format(READY=ready, PICKED=picked, MARK=mark)}


def optional(
    after: str = "", condition: str = "if val_loader is not None:", default: str = "=None", mark: str = ""
) -> dict[str, str]:
    text = OPTIONAL.format(AFTER=after, CONDITION=condition, DEFAULT=default, MARK=mark)
    return {"net.py": NET, "run.py": text}


def picked(one: str, other: str, ready: str = "", mark: str = "") -> dict[str, str]:
    return {"run.py": PICKED_LAYER.format(ONE=one, OTHER=other, READY=ready, MARK=mark)}


SILENT: dict[str, Mapping[str, str]] = {
    "what an object counts, with both switches": counted(),
    "a test that a base class runs under no_grad": inherited("torch.no_grad()"),
    "a method of another name": inherited(name="compute"),
    "training that waits for what a method of that name keeps": inherited(trains="self.test()"),
    "a script that tests under no_grad": inherited(call="with torch.no_grad():\n                model.test()"),
    "windows of a network in evaluation mode": windows(),
    "windows that another function fills": windows(ready="", predictor="lambda part: part * 2"),
    "a wrapper that switches autograd off, of a method that calls eval": wrapped(),
    "the validation rows of a graph": graph(),
    "some rows of a graph, amid training": graph(ready="", picked="train_idx"),
    "a fit that ends in evaluation mode": optional(after="self.model.eval()"),
    "a fit that always validates": optional(condition="if epoch >= 0:"),
    "data to validate on that must be given": optional(default=""),
    "either of two layers with a mode, switched": picked("Dropout", "Dropout1d", ready="model.eval()"),
}
FOUND: dict[str, Mapping[str, str]] = {
    "what an object counts, without eval": counted(ready='print("validating")', mark="  # ML101"),
    "what an object counts, without no_grad": counted(switch="torch.autocast('cuda')", mark="  # ML201"),
    "a test that a base class runs": inherited(mark="  # ML201"),
    "a test that a base class without decorators runs": inherited(abstract="", mark="  # ML201"),
    "windows of a network in training mode": windows(ready="", mark="  # ML101"),
    "a wrapper that switches autograd off": wrapped(ready='"""Find them."""', mark="  # ML101"),
    "the validation rows of a graph, without eval": graph(ready="", mark="  # ML101"),
    "a fit that may not validate": optional(mark="  # ML101"),
    "a fit that asks whether there is data": optional(condition="if val_loader:", mark="  # ML101"),
    "either of two layers without a mode, a third with one": picked("LayerNorm", "Identity", mark="  # ML101:error"),
    "either of two layers with a mode": picked("Dropout", "Dropout1d", mark="  # ML101:error"),
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(lint: Lint, name: str) -> None:
    lint(SILENT[name], rules=RULES)


@pytest.mark.parametrize("name", FOUND)
def test_found(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=RULES)
