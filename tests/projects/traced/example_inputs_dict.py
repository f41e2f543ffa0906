"""Inputs from a function beside the target."""
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, a, b=None):
        if b.sum() > -1e9:
            a = F.dropout(a + b, 0.5)  # want: ML601
        return self.fc(a)


def build():
    return Net().eval()


def example_inputs():
    return {"a": torch.ones(2, 4), "b": torch.ones(2, 4)}
