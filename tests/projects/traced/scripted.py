# input: float32[2,8]
"""A scripted module keeps its training flag."""
import torch
import torch.nn.functional as F
from torch import nn


class Inner(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.5, self.training)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.jit.script(Inner())

    def forward(self, x):
        return self.inner(x)  # want: ML601


def build():
    return Net()
