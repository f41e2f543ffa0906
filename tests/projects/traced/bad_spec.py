# input: float33[2,8]
# status: 2
"""The spec is wrong."""
from torch import nn


def build():
    return nn.Linear(8, 8).eval()
