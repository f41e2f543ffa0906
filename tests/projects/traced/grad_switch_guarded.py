# input: float32[2,8]
"""Gradients follow the mode, or are asked for where nothing needs them: nothing to report."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        with torch.set_grad_enabled(self.training):
            x = self.fc(x)
        with torch.enable_grad():
            scale = x * 2
        return scale

def build():
    return Net().eval()
