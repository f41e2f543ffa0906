# input: float32[2,4]
"""Gradients are switched on, and nothing needs any: nothing to report."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        with torch.enable_grad():
            return self.fc(x)


def build():
    return Net().eval().requires_grad_(False)
