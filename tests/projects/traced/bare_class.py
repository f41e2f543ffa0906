# input: float32[2,8]
"""A class is built by modellint, and put into eval."""
from torch import nn


class build(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(x)
