# input: float32[2,8]
# options: --mode eval
"""Asked for eval mode."""
from torch import nn


def build():
    return nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(0.5))
