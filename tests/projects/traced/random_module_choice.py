# input: float32[2,4]
"""Layer drop with numpy and with random.sample."""
import random

import numpy as np
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))

    def forward(self, x):
        keep = random.sample(range(4), 3)  # want: ML603

        for index, layer in enumerate(self.layers):
            if index in keep:
                x = layer(x)

        order = np.random.permutation(4)  # want: ML603
        return x[:, order.tolist()]


def build():
    return Net().eval()
