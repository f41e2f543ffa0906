# input: float32[4,8]
"""Lazy modules are given their shapes first; their initialisation is no draw."""
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.LazyLinear(8)
        self.norm = nn.LazyBatchNorm1d()

    def forward(self, x):
        return self.norm(self.fc(x))


def build():
    return Net().eval()
