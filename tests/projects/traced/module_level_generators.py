# input: float32[2,4]
"""Generators of numpy and torch that live beside the class."""

import numpy as np
import torch
from torch import nn

RNG = np.random.default_rng(0)
GEN = torch.Generator().manual_seed(0)


class Net(nn.Module):
    def forward(self, x):
        x = x + float(RNG.normal())  # want: ML603
        return x * torch.rand(4, generator=GEN)  # want: ML603


def build():
    return Net().eval()
