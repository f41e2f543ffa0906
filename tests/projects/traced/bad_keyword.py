# input: imgs=float32[2,8]
# status: 2
"""There is no such argument."""
from torch import nn


class Net(nn.Module):
    def forward(self, images):
        return images


def build():
    return Net().eval()
