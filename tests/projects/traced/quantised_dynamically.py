# input: float32[2,3,4]
"""Dynamically quantised layers."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = nn.Sequential(
            nn.Linear(4, 4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 4), nn.LSTM(4, 4, 2, dropout=0.1)
        )

    def forward(self, x):
        return self.s(x)[0]


def build():
    return torch.ao.quantization.quantize_dynamic(Net().eval(), {nn.Linear, nn.LSTM}, dtype=torch.qint8)
