"""What ten more libraries taught: methods from elsewhere, callers that say they train, layers registered one by one."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

RULES = ("ML101", "ML106", "ML108", "ML201")

LENT = """
import torch
from torch import nn
from lent import decode as decode_function

class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(8, 8)

    def forward(self, x):
        return self.rnn(x)[0]

    {method}

def transcribe(path, x):
    reader = Reader()
    reader.load_state_dict(torch.load(path, weights_only=True))
    reader.eval()
    return reader.decode(x).argmax(-1).tolist(){mark}
"""
LEND = """
import torch

@torch.no_grad()
def decode(model, x):
    return model(x)
"""
BECOMES = """
import torch
from torch import nn
from hub import Mixin

class Reader(nn.Module, Mixin):
    def __init__(self, kind):
        super().__init__()
        self.rnn = nn.LSTM(8, 8)
        self.{attribute} = kind

    def forward(self, x):
        return self.rnn(x)[0]

def transcribe(path, kind, x):
    reader = Reader(kind)
    reader.load_state_dict(torch.load(path, weights_only=True))
    reader.eval()
    return reader.predict(x).argmax(-1).tolist(){mark}
"""
SAMPLES = """
import torch
from torch import nn

class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5))

    def forward(self, z):
        return self.layers(z)

def {name}(generator, z, is_train):
    with torch.no_grad():
        return generator(z).cpu().numpy(){mark}

def gather(path, z):
    generator = Generator()
    generator.load_state_dict(torch.load(path, weights_only=True))
    generator.train()
    images = {name}(generator, z, {argument})
    generator.eval()
    return images
"""
POURED = """
from torch import nn

class Features(nn.Module):
    def __init__(self, sizes, strides):
        super().__init__()
        convs = [nn.Conv2d(8, 8, size) for size in sizes]
        sequence = []
        for {loop}:
            {put}
            sequence.append(nn.ReLU())
        self.body = nn.Sequential(*sequence)
        self.convs = convs{mark}

    def forward(self, x):
        for conv in self.convs:
            x = conv(x)
        return x
"""
PLANS = """
import numpy as np
from torch import nn

class {name}(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(8, 1)

    def forward(self, x):
        return self.score(x) * np.random.uniform(0.5, 1.5){mark}
"""
ZIP = "conv, stride in zip(convs, strides)"

SILENT: dict[str, dict[str, str]] = {
    "a method that is a function of another file": {
        "lent.py": LEND,
        "app.py": LENT.format(method="decode = decode_function", mark=""),
    },
    "an object that takes on another class": {"app.py": BECOMES.format(attribute="__class__", mark="")},
    "a caller that says that it trains": {
        "app.py": SAMPLES.format(name="generate_images", argument="is_train=True", mark="")
    },
    "layers that a Sequential takes in one by one": {
        "app.py": POURED.format(loop="conv in convs", put="sequence.append(conv)", mark="")
    },
    "layers that go into a Sequential beside something else": {
        "app.py": POURED.format(loop=ZIP, put="sequence.append(conv)", mark="")
    },
    "a planner": {"app.py": PLANS.format(name="RandomPlannerNet", mark="")},
    "a blur": {"app.py": PLANS.format(name="GaussianBlur", mark="")},
    "augmentations in a file of their own": {"simclr_aug.py": PLANS.format(name="Shade", mark="")},
}

FOUND: dict[str, dict[str, str]] = {
    "a method of the class itself": {
        "app.py": LENT.format(method="def decode(self, x):\n        return self(x)  # ML201", mark="")
    },
    "an object that keeps a class": {"app.py": BECOMES.format(attribute="kind", mark="  # ML201")},
    "a caller that says that it does not train": {
        "app.py": SAMPLES.format(name="generate_images", argument="is_train=False", mark="  # ML101")
    },
    "an evaluation on the data for training": {
        "app.py": SAMPLES.format(name="evaluate", argument="is_train=True", mark="  # ML101")
    },
    "layers of which a Sequential takes some": {
        "app.py": POURED.format(loop=ZIP, put="if stride:\n                sequence.append(conv)", mark="  # ML106")
    },
    "layers whose strides a Sequential takes": {
        "app.py": POURED.format(loop=ZIP, put="sequence.append(stride)", mark="  # ML106")
    },
    "layers that another list takes": {
        "app.py": POURED.format(loop="conv in convs", put="strides.append(conv)", mark="  # ML106")
    },
    "a factor drawn in a network": {"app.py": PLANS.format(name="Shade", mark="  # ML108")},
}


@pytest.mark.parametrize("name", SILENT)
def test_right(lint: Lint, name: str) -> None:
    lint(SILENT[name], rules=RULES)


@pytest.mark.parametrize("name", FOUND)
def test_wrong(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=RULES)
