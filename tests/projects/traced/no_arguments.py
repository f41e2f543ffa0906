"""A forward without arguments needs no input."""
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.ones(4, 4))
        self.norm = nn.BatchNorm1d(4, track_running_stats=False)

    def forward(self):
        return F.dropout(self.table, 0.5)  # want: ML601


def build():
    return Net().eval()
