# input: float32[2,3,8,8]
"""DropBlock by hand, one of two left in training mode."""

import torch
import torch.nn.functional as F
from torch import nn


class DropBlock(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        m = (torch.rand(x.shape[0], *x.shape[2:]) < self.p).float()  # want: ML603
        m = F.max_pool2d(m[:, None], 3, 1, 1)
        return x * (1 - m)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = DropBlock(0.1), DropBlock(0.1)

    def forward(self, x):
        x = self.a(x)
        return self.b(x)  # want: ML605


def build():
    m = Net().eval()
    m.b.train()
    return m
