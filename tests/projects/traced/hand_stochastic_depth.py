# input: float32[4,8]
"""Stochastic depth written by hand, with Python's random numbers and with torch's."""
import random

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        if random.random() < 0.01:  # want: ML603
            return x
        return x + self.fc(x)


class Path(nn.Module):
    def forward(self, x):
        mask = torch.empty(x.shape[0], 1).bernoulli_(0.9)  # want: ML603
        return x * mask / 0.9


def build():
    return nn.Sequential(Block(), Path()).eval()
