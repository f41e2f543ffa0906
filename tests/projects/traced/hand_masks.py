# input: float32[2,4]
"""Masks drawn in the forward in five spellings, and a fixed one."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("fixed", (torch.rand(4) > 0.5).float())

    def forward(self, x):
        x = x * self.fixed
        x = x * (torch.rand(x.shape) > 0.1)  # want: ML603
        x = x * torch.bernoulli(torch.full_like(x, 0.9))  # want: ML603
        x = x * x.new_empty(x.shape[0], 1).bernoulli_(0.9)  # want: ML603
        x = x[torch.randperm(x.shape[0])]  # want: ML603
        keep = torch.randint(0, 2, (4,))  # want: ML603
        return x * keep


def build():
    return Net().eval()
