# input: float32[2,8]
"""Dropout that is seeded is repeatable, and still drops."""
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        torch.manual_seed(0)
        return F.dropout(x, 0.5)  # want: ML601


def build():
    return Net().eval()
