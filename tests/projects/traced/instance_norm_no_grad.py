# input: float32[2,3,8,8]
"""A forward that inference mode does not survive: instance norm then shows as a batch norm. Nothing to report."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.InstanceNorm2d(3)
        self.fc = nn.Conv2d(3, 1, 1)

    def forward(self, x):
        with torch.enable_grad():
            x = x.detach().clone().requires_grad_()
            (slope,) = torch.autograd.grad(self.fc(self.norm(x)).tanh().sum(), x)
        return slope


def build():
    return Net().eval()
