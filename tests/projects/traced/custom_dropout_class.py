# input: float32[2,8]
"""Dropout written by hand: one listens to the mode, one does not."""
import torch
from torch import nn


class Drop(nn.Module):
    def __init__(self, always):
        super().__init__()
        self.always = always

    def forward(self, x):
        if self.training or self.always:
            mask = torch.bernoulli(torch.full_like(x, 0.9))  # want: ML603
            return x * mask
        return x


def build():
    return nn.Sequential(Drop(False), Drop(True)).eval()
