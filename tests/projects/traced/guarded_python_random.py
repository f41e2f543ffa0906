# input: float32[2,4]
"""Random numbers of Python under the mode: nothing to report."""
import random

from torch import nn


class Net(nn.Module):
    def forward(self, x):
        if self.training and random.random() < 0.5:
            return x
        return x * 2


def build():
    return Net().eval()
