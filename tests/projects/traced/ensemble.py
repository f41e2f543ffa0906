# input: float32[2,8]
"""Models in a list, one in training mode: the list is out of reach."""
import torch
from torch import nn


class Ensemble(nn.Module):
    def __init__(self):
        super().__init__()
        self.members = [nn.Sequential(nn.Linear(8, 4), nn.Dropout(0.3)) for _ in range(3)]

    def forward(self, x):
        return torch.stack([member(x) for member in self.members]).mean(0)  # want: ML601 ML606


def build():
    return Ensemble().eval()
