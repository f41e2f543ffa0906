# input: float32[2,8]
"""A frozen teacher kept out of the state dict on purpose: nothing to report."""
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        teacher = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(0.5)).eval()
        self.teacher = [teacher]

    def forward(self, x):
        return self.fc(x) - self.teacher[0](x)


def build():
    return Net().eval()
