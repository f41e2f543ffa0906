# input: float32[2,5,4]
"""Zoneout by hand that never listens to the mode."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)

    def forward(self, x):
        h = x.new_zeros(x.shape[0], 4)
        for t in range(x.shape[1]):
            n = self.cell(x[:, t], h)
            keep = torch.rand_like(n) < 0.1  # want: ML603
            h = torch.where(keep, h, n)
        return h


def build():
    return Net().eval()
