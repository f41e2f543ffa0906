"""Shapes of defects that were missed in repositories nobody had looked at, and the correct code beside them."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

RULES = ["ML101", "ML103", "ML306", "ML307"]

ASKED = """
import torch

@torch.no_grad()
def predict(net, path, x):
    net.load_state_dict(torch.load(path, weights_only=True))
    training = {asked}
    if training:
        raise ValueError("call eval() first")
    return net(x).argmax(-1).tolist()  # {mark}
"""

POSES = """
import torch
from torch import nn

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6))

    def forward(self, x):
        return self.features(x).mean((2, 3))

class Trainer:
    def __init__(self, frames, loader, path):
        self.frames, self.loader = frames, loader
        self.encoder, self.pose = Encoder(), Encoder()
        if path:
            self.pose.load_state_dict(torch.load(path, weights_only=True))
        self.optimizer = torch.optim.Adam(list(self.encoder.parameters()) + list(self.pose.parameters()))

    def run(self):
        self.encoder.train()
        self.pose.train()
        for inputs in self.loader:
            loss = self.process(inputs)
            loss.backward()
            self.optimizer.step()
            {after}

    def process(self, inputs):
        print(self.predict_poses(inputs).tolist())
        return (self.encoder(inputs["image"]) - inputs["depth"]).abs().mean()

    def predict_poses(self, inputs):
        return torch.stack([self.pose(inputs[frame]) for frame in self.frames])  # {mark}

Trainer(FRAMES, LOADER, PATH).run()
"""

GEOMETRY = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5))

    def forward(self, x):
        return self.fc(x)

class Backproject(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.ones = nn.Parameter(torch.ones(size){grad})

    def forward(self, depth):
        return torch.cat([depth, self.ones], 1)

def predict(depth, path):
    net = Net()
    net.load_state_dict(torch.load(path, weights_only=True))
    net.eval()
    backproject = Backproject(8)
    with torch.no_grad():
        return backproject(net(depth)).argmax(-1).tolist()  # {mark}
"""

NET = """
import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5))

    def forward(self, x):
        return self.fc(x)
"""

WRAPPED = (
    NET
    + """
class Spread(nn.DataParallel):
    def __init__(self, module, gpus):
        super().__init__(module)
        self.gpus = gpus

    def scatter(self, inputs, kwargs, device_ids):
        return [inputs], [kwargs]

def predict(x):
    net = Net()
    net.load_state_dict(torch.load("a.pt", weights_only=True))
    net = Spread(net, 2)
    {ready}
    with torch.no_grad():
        return net(x).argmax(-1).tolist()  # {mark}
"""
)

OPTIONAL = (
    NET
    + """
class Trainer:
    def __init__(self, args, loader, val_loader):
        self.args, self.loader, self.val_loader = args, loader, val_loader
        self.model = Net()
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)

    def fit(self):
        {before}
        for epoch in range(self.args.epochs):
            {first}
            for x, y in self.loader:
                loss = F.cross_entropy(self.model(x), y)  # {mark}
                loss.backward()
                self.optimizer.step()
            if not self.args.no_validation:
                self.validate()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        for x, y in self.val_loader:
            print(self.model(x).argmax(1).tolist(), y)

Trainer(ARGS, LOADER, VAL_LOADER).fit()
"""
)

WITH_LOSS = (
    NET
    + """
class {name}(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.criterion = nn.CrossEntropyLoss()
        self.model = model

    def forward(self, x, y):
        return self.criterion(self.model(x), y)

def fit(loader, val_loader):
    model = {name}(Net())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model.train()
    for epoch in range(9):
        for x, y in loader:
            loss = model(x, y)  # {mark}
            loss.backward()
            optimizer.step()
        model.eval()
        for x, y in val_loader:
            with torch.no_grad():
                print(model(x, y).item())
        {after}
"""
)

MAIN = """
from torch.utils.data import DataLoader
from data import Images
from models import build
from {source} import fit

if __name__ == "__main__":
    train_loader = DataLoader(Images("train"), 8, shuffle=True)
    val_loader = DataLoader(Images("val"), 8, shuffle={shuffle})  # {mark}
    fit(build(), train_loader, val_loader)
"""

FIT = """
import torch
from checks import check

def fit(model, train_loader, val_loader):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for epoch in range(9):
        model.train()
        for x, y in train_loader:
            model(x, y).backward()
            optimizer.step()
        check(model, val_loader)
"""

CHECK = """
import torch

def check(model, loader):
    {body}
"""

EVALUATES = """model.eval()
    with torch.no_grad():
        for x, y in loader:
            print(model(x).argmax(1).tolist(), y)"""
TRAINS = """model.train()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x, y in loader:
        model(x, y).backward()
        optimizer.step()"""


def handed(mark: str, shuffle: bool = True, body: str = EVALUATES, package: bool = False) -> dict[str, str]:
    """Return a project that hands its loaders down through two files."""
    where = {"tools/__init__.py": "from .fitting import *", "tools/fitting.py": FIT} if package else {"fitting.py": FIT}
    main = MAIN.format(source="tools" if package else "fitting", shuffle=shuffle, mark=mark)
    return {"main.py": main, "checks.py": CHECK.format(body=body), **where}


SILENT = {
    "a mode that was asked for and kept in a variable": ASKED.format(asked="net.training", mark=""),
    "what a step gives besides the loss that it trains on": POSES.format(after="pass", mark=""),
    "a module whose parameters are constants": GEOMETRY.format(grad=", requires_grad=False", mark=""),
    "a wrapper of the project in evaluation mode": WRAPPED.format(ready="net.eval()", mark=""),
    "training mode in every epoch, before an optional validation": OPTIONAL.format(
        before="pass", first="self.model.train()", mark=""
    ),
    "frozen in evaluation mode": OPTIONAL.format(before="self.model.eval()", first="pass", mark=""),
    "a model with its loss that is put back": WITH_LOSS.format(name="ModelWithLoss", after="model.train()", mark=""),
    "a loss that holds a model": WITH_LOSS.format(name="PerceptualLoss", after="pass", mark=""),
    "a loader that is handed down unshuffled": handed("", shuffle=False),
    "a loader that is handed down to training": handed("", body=TRAINS),
}
FOUND = {
    "another condition than the mode": ASKED.format(asked="x.requires_grad", mark="ML101"),
    "predictions that no step gives": POSES.format(after="print(self.predict_poses(inputs).tolist())", mark="ML101"),
    "a wrapper of the project in training mode": WRAPPED.format(ready="pass", mark="ML101"),
    "an optional validation that leaves its mode": OPTIONAL.format(
        before="self.model.train()", first="pass", mark="ML103"
    ),
    "a model with its loss": WITH_LOSS.format(name="ModelWithLoss", after="pass", mark="ML103"),
    "a loader that is handed down": handed("ML306"),
    "a loader that is handed down through a package": handed("ML306", package=True),
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(lint: Lint, name: str) -> None:
    lint(SILENT[name], rules=RULES)


@pytest.mark.parametrize("name", FOUND)
def test_found(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=RULES)
