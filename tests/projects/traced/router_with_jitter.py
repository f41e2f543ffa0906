# input: float32[4,4]
"""A mixture of experts whose router jitters in evaluation as well."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.r = nn.Linear(4, 2)
        self.noise = nn.Linear(4, 2)
        self.e = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x):
        logits = self.r(x)
        if self.training:
            logits = logits + torch.randn_like(logits) * self.noise(x)
        jitter = torch.empty_like(logits).uniform_(0.9, 1.1)  # want: ML603
        w, i = (logits * jitter).softmax(-1).topk(1)
        out = torch.zeros_like(x)
        for n, e in enumerate(self.e):
            rows = (i == n).any(-1)
            out[rows] = e(x[rows])
        return out * w


def build():
    return Net().eval()
