# input: float32[2,8]
"""Activation checkpointing saves random states; nothing is drawn. Nothing to report."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return checkpoint(lambda y: self.drop(self.fc(y)), x, use_reentrant=False)


def build():
    return Net().eval()
