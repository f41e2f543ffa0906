# input: float32[2,4]
"""A submodule traced in training mode keeps its dropout for good."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.traced = torch.jit.trace(
            nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)), torch.ones(2, 4), check_trace=False
        )

    def forward(self, x):
        return self.traced(x)  # want: ML601


def build():
    return Net().eval()
