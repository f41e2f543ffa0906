# input: float32[2,4]
"""Random numbers that the model seeds itself, in four ways: nothing to report."""
import random

import numpy as np
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        generator = torch.Generator().manual_seed(0)
        x = x @ torch.randn(4, 4, generator=generator)
        with torch.random.fork_rng():
            torch.manual_seed(3)
            x = x + torch.rand(4)
        rng = np.random.default_rng(1)
        x = x * float(rng.random())
        dice = random.Random(7)
        return x + dice.random()


def build():
    return Net().eval()
