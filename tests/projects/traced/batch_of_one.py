# input: float32[1,8]
"""Batch norm in training refuses a batch of one: that is the finding."""
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        return self.norm(self.fc(x))  # want: ML602


def build():
    return Net()
