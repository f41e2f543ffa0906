# input: float32[4,8]
"""A part without mode-dependent code was added after eval(): nothing to report."""
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(8, 8)
        self.head = nn.Identity()

    def forward(self, x):
        return self.head(self.stem(x))


def build():
    net = Net().eval()
    net.head = nn.Sequential(nn.Linear(8, 4), nn.ReLU())
    return net
