# input: float32[2,4]
"""The forward writes to its input and draws afterwards: the second look starts from the same input."""
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        x.add_(1)
        if x.max() > 5.5:
            raise ValueError("seen twice")
        return x + torch.randn(4)  # want: ML603


def build():
    return Net().eval()
