# input: float32[2,4]
"""Generators that the model keeps: seeded once, so every forward differs."""
import numpy as np
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(0)
        self.generator = torch.Generator().manual_seed(0)

    def forward(self, x):
        x = x + float(self.rng.normal())  # want: ML603

        return x + torch.randn(4, generator=self.generator)  # want: ML603


def build():
    return Net().eval()
