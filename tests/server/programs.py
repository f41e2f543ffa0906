"""Programs that the tests of the server type."""

from __future__ import annotations

FINE = """\
import torch
import torchvision


@torch.no_grad()
def predict(batch):
    model = torchvision.models.resnet18(weights="DEFAULT")
    model.eval()
    return model(batch).argmax(dim=1)
"""
FORGOTTEN = FINE.replace("    model.eval()\n", "")  # ML101 at line 7, character 11
DEFECT = ["ML101"]

MODEL = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.last = nn.Linear(4, 2)

    def forward(self, x):
        return self.last(self.drop(x))


def load(path):
    net = Net()
    net.load_state_dict(torch.load(path, weights_only=True))
    net.eval()
    return net
"""
SCRIPT = """\
import torch

from model import load


@torch.no_grad()
def predict(path, batch):
    net = load(path)
    return net(batch).argmax(dim=1)
"""
TRAINING = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.last = nn.Linear(4, 2)

    def forward(self, x):
        return self.last(self.drop(x))


def build():
    return Net()
"""
CONFIGURED = "models:\n- target: model.py:build\n  inputs: ['float32[2,4]']\n"
