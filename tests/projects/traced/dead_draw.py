# input: float32[2,4]
"""A draw whose value reaches nothing: not worth an alarm."""
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        torch.rand(3)
        return x * 2


def build():
    return Net().eval()
