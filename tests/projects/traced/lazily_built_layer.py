# input: float32[2,8]
"""A layer that the first forward builds and registers: nothing to report."""
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = None

    def forward(self, x):
        if self.fc is None:
            self.fc = nn.Linear(x.shape[-1], 4)
        return self.fc(x)


def build():
    return Net().eval()
