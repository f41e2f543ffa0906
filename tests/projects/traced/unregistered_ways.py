# input: float32[2,8]
"""Modules in a dict, a tuple, a lambda, a namespace."""
from types import SimpleNamespace

from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = {"a": nn.Linear(8, 8)}
        self.pair = (nn.Linear(8, 8), nn.BatchNorm1d(8))
        hidden = nn.Linear(8, 8)
        self.call = lambda x: hidden(x)  # want: ML606
        self.space = SimpleNamespace(drop=nn.Dropout(0.5))

    def forward(self, x):
        x = self.heads["a"](x)  # want: ML606

        x = self.pair[0](x)  # want: ML606

        x = self.call(x)

        return self.space.drop(x)  # want: ML601 ML606


def build():
    return Net().eval()
