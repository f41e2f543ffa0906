# input: float32[4,8]
"""Batch norm and dropout of one Sequential, in training under an eval root."""
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(0.1))

    def forward(self, x):
        return self.block(x)  # want: ML601 ML602 ML605


def build():
    net = Net().eval()
    for part in net.block:
        part.train()
    return net
