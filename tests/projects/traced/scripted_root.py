# input: float32[2,8]
"""The factory returns a scripted model: its own line is the place."""
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.5)


def build():
    return torch.jit.script(Net().eval())  # want: ML601
