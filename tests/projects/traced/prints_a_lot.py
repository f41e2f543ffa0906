# input: float32[2,8]
"""What the model prints stays apart from what modellint prints."""
import sys

from torch import nn

print("[]")


class Net(nn.Module):
    def forward(self, x):
        print("loading", x.shape)
        print("{", file=sys.stderr)
        return x * 2


def build():
    return Net().eval()
