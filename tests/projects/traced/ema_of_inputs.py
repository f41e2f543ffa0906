# input: float32[2,8]
"""A buffer follows the inputs; nothing random, nothing of the batch in the answer's norm: nothing to report."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(8))
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        if self.training:
            self.mean.lerp_(x.mean(0), 0.1)
        return self.fc(x - self.mean)


def build():
    return Net().eval()
