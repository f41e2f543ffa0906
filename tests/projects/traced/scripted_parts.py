# input: float32[2,4]
"""Scripted submodules, one of them left in training mode."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.good = torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)))
        self.bad = torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)))
        self.traced = torch.jit.trace(nn.Linear(4, 4).eval(), torch.ones(2, 4))

    def forward(self, x):
        x = self.good(x)
        x = self.bad(x)  # want: ML601 ML605
        return self.traced(x)


def build():
    m = Net().eval()
    m.bad.train()
    return m
