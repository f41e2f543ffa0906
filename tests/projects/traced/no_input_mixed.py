"""No input: mixed mode by the symbolic graph."""
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(8, 8)
        self.head = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.2))

    def forward(self, x):
        x = self.stem(x)
        x = self.stem(x)
        return self.head(x)  # want: ML601 ML605


def build():
    net = Net().eval()
    net.head.train()
    return net
