# input: float32[2,8]
"""set_grad_enabled(True) as a call."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        torch.set_grad_enabled(True)
        return self.fc(x)  # want: ML604


def build():
    return Net().eval()
