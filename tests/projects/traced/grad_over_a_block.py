# input: float32[2,8]
"""A whole block under enable_grad is one finding, at its first operation on parameters."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))

    def forward(self, x):
        x = x * 2
        with torch.enable_grad():
            x = self.body(x)  # want: ML604
            x = x.relu()
            y = x + 1
        return y


def build():
    return Net().eval()
