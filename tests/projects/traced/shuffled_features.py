# input: float32[4,4]
"""Features shuffled by Python's and numpy's generators, and once for all."""

import random
import numpy as np
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        order = list(range(4))
        random.Random(0).shuffle(order)
        self.order = order

    def forward(self, x):
        x = x[:, self.order]
        idx = list(range(4))
        random.shuffle(idx)  # want: ML603
        x = x[:, idx]
        k = np.random.choice(4, 2)  # want: ML603
        return x[:, torch.as_tensor(k)]


def build():
    return Net().eval()
