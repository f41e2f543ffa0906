# input: float32[2,4]
"""Tables that the first forward creates, one of them random: later forwards draw nothing. Nothing to report."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", None, persistent=False)
        self.noise = None

    def forward(self, x):
        if self.table is None or self.table.shape[0] != x.shape[0]:
            self.table = torch.arange(x.shape[0], dtype=x.dtype)[:, None]
        if self.noise is None:
            self.noise = torch.randn(4)
        return x + self.table + self.noise


def build():
    return Net().eval()
