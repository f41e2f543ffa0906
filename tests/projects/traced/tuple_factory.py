# input: float32[2,8]
"""A factory that returns the model beside other things, as some libraries do."""
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.5)  # want: ML601


def build():
    return Net().eval(), str, None
