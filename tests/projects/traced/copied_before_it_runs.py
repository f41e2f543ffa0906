# input: float32[2,4]
"""A copy of a registered part in evaluation mode."""

import copy
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))

    def forward(self, x):
        return copy.deepcopy(self.fc)(x)


def build():
    return Net().eval()
