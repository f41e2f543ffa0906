# input: float32[2,4]
"""The forward adapts itself by a backward pass of its own: it wants the graph. Nothing to report."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        with torch.enable_grad():
            shift = torch.zeros(4, requires_grad=True)
            loss = (self.fc(x + shift) ** 2).sum()
            torch.autograd.backward(loss, inputs=[shift])
        return self.fc(x - shift.grad)


def build():
    return Net().eval()
