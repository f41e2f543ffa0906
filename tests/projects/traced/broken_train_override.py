# input: float32[4,8]
"""A train() that does not pass the mode on: eval() reaches the root only."""
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def train(self, mode=True):
        self.training = mode
        return self

    def forward(self, x):
        return self.drop(x)  # want: ML601 ML605


def build():
    return Net().eval()
