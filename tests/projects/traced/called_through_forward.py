# input: float32[2,8]
"""Modules called by .forward are still seen."""
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        x = self.norm.forward(x)  # want: ML602

        return self.drop.forward(x)  # want: ML601


def build():
    return Net()
