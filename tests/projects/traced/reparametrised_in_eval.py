# input: float32[2,4]
"""Spectral norm, weight norm and orthogonal weights in evaluation mode."""

from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4))
        self.b = nn.utils.spectral_norm(nn.Linear(4, 4))
        self.c = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))
        self.d = nn.utils.weight_norm(nn.Linear(4, 4))
        self.e = nn.utils.parametrizations.orthogonal(nn.Linear(4, 4))

    def forward(self, x):
        return self.e(self.d(self.c(self.b(self.a(x)))))


def build():
    return Net().eval()
