# input: float32[2,4]
"""A forward that writes its own weights, also through .data."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        with torch.no_grad():
            self.fc.weight.div_(self.fc.weight.norm())
        self.cache = x
        self.fc.weight.data = self.fc.weight.data * 1.5
        return self.fc(x)


def build():
    return Net().eval()
