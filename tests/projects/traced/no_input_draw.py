"""No input: a draw that depends on nothing is baked into a symbolic graph, and found all the same."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        x = self.fc(x) + torch.rand(8)  # want: ML603

        return torch.bernoulli(x.sigmoid())  # want: ML603


def build():
    return Net().eval()
