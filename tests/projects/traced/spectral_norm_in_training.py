# input: float32[2,4]
"""Spectral norms of both kinds whose forwards go on updating their buffers."""

from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4))
        self.b = nn.utils.spectral_norm(nn.Linear(4, 4))

    def forward(self, x):
        x = self.a(x)  # want: ML605
        return self.b(x)  # want: ML605


def build():
    m = Net().eval()
    m.a.train()
    m.b.train()
    return m
