# input: float32[4,8]
"""Batch norms whose flag is wrong, missing, upside down; and right ones."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = nn.BatchNorm1d(8)
        self.m = nn.BatchNorm1d(8, track_running_stats=False)
        self.s = nn.SyncBatchNorm(8)

    def forward(self, x):
        n = self.n
        x = F.batch_norm(x, n.running_mean, n.running_var, n.weight, n.bias, self.training)
        x = F.batch_norm(x, n.running_mean, n.running_var, n.weight, n.bias, not self.training)  # want: ML602
        x = F.batch_norm(x, None, None, training=True)  # want: ML602
        x = self.m(x)  # want: ML602
        x = torch.batch_norm(x, n.weight, n.bias, n.running_mean, n.running_var, True, 0.1, 1e-5, False)  # want: ML602
        return self.s(self.n(x))


def build():
    return Net().eval()
