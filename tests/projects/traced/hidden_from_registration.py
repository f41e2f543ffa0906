# input: float32[2,4]
"""Modules put past registration: one in training mode, one in evaluation."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.__dict__["teacher"] = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))
        self.__dict__["good"] = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1)).eval()

    def forward(self, x):
        with torch.no_grad():
            y = self.good(x)
            t = self.teacher(x)  # want: ML606 ML601
        return self.fc(x) - t - y


def build():
    return Net().eval()
