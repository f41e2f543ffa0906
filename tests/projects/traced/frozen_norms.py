# input: float32[4,8]
"""Batch norms kept in eval under a root in training: nothing to report."""
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.norm = nn.BatchNorm1d(8)

    def train(self, mode=True):
        super().train(mode)
        self.norm.eval()
        return self

    def forward(self, x):
        return self.norm(self.fc(x))


def build():
    return Net().train()
