# input: float32[4,8]
"""eval() was called, and one norm was switched back."""
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.BatchNorm1d(8)
        self.second = nn.BatchNorm1d(8)

    def forward(self, x):
        x = self.first(x)

        return self.second(x)  # want: ML602 ML605


def build():
    net = Net().eval()
    net.second.train()
    return net
