# input: float32[2,4]
"""Layers that only `.forward` calls, in a list, a dict, a partial and as a bound method."""

import functools

from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(4, 4) for _ in range(2)]
        self.table = {"x": nn.BatchNorm1d(4)}
        self.fn = functools.partial(nn.Linear(4, 4))
        self.bound = nn.Linear(4, 4).forward
        self.act = [nn.ReLU()]
        self.ok = nn.Linear(4, 4)
        self.alias = [self.ok]

    def forward(self, x):
        for layer in self.layers:
            x = layer.forward(x)  # want: ML606
        x = self.table["x"].forward(x)  # want: ML606 ML602
        x = self.fn(x)  # want: ML606
        x = self.bound(x)  # want: ML606
        x = self.act[0].forward(x)
        x = self.alias[0].forward(x)
        return self.ok.forward(x)


def build():
    return Net().eval()
