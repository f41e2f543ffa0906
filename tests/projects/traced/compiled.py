# input: float32[2,8]
"""A model wrapped by torch.compile is seen through."""
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.5)  # want: ML601


def build():
    return torch.compile(Net().eval())
