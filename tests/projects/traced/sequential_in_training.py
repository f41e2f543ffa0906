# input: float32[4,8]
"""A model without code of its own: the line that builds the layer is the place."""
from torch import nn


def build():
    return nn.Sequential(
        nn.Linear(8, 8),
        nn.ReLU(),
        nn.BatchNorm1d(8),  # want: ML602
        nn.ReLU(),
        nn.Dropout(0.5),  # want: ML601
    )
