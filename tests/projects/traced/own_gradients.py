# input: float32[2,3]
"""The gradient is the answer: nothing to report."""
import torch
from torch import nn


class Forces(nn.Module):
    def __init__(self):
        super().__init__()
        self.energy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, positions):
        with torch.enable_grad():
            positions = positions.detach().requires_grad_(True)
            energy = self.energy(positions).sum()
            (gradient,) = torch.autograd.grad(energy, positions)
        return -gradient


def build():
    return Forces().eval()
