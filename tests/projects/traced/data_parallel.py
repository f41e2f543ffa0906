# input: float32[2,8]
"""A wrapper of torch's own."""
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(x)  # want: ML601


def build():
    return nn.DataParallel(Net())
