# input: float32[2,8]
"""Twelve dropouts on one line are one finding."""
from torch import nn


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.drop(self.fc(x))  # want: ML601


def build():
    return nn.Sequential(*[Layer() for _ in range(12)])
