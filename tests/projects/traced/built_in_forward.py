# input: float32[2,8]
"""Modules built inside the forward."""
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        x = nn.ReLU()(x)

        x = nn.Linear(8, 8)(x)  # want: ML606

        return nn.Dropout(0.2)(x)  # want: ML601 ML606


def build():
    return Net().eval()
