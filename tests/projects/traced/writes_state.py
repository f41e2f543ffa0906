# input: float32[2,8]
"""Counters, caches and weights written by the forward; nothing random. Nothing to report."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.register_buffer("calls", torch.zeros(()))
        self.history = []

    def forward(self, x):
        self.calls += 1
        self.history.append(x.shape)
        with torch.no_grad():
            self.fc.weight.clamp_(-1, 1)
            self.fc.bias.data.mul_(1.0)
        return self.fc(x)


def build():
    return Net().eval()
