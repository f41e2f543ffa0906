# input: float32[2,4,4,4]
"""Dropout in every spelling that torch has; alpha dropout does nothing by default."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.AlphaDropout(0.1)
        self.r = nn.RReLU()
        self.z = nn.Dropout(0.0)
        self.f = nn.FractionalMaxPool2d(2, output_size=2)

    def forward(self, x):
        x = self.r(self.a(self.z(x)))
        x = F.dropout(x, 0.0, True)
        x = torch.dropout(x, 0.1, True)  # want: ML601
        x = torch.native_dropout(x, 0.1, True)[0]  # want: ML601
        x = torch.feature_dropout(x, 0.1, True)  # want: ML601
        x = torch.ops.aten.dropout(x, 0.1, True)  # want: ML601
        x = F.dropout2d(x, 0.1)  # want: ML601
        x = F.alpha_dropout(x, 0.1)
        x = F.alpha_dropout(x, 0.1, True)  # want: ML601
        x = F.rrelu(x, training=True)  # want: ML603
        return self.f(x)  # want: ML603


def build():
    m = Net().eval()
    m.z.train()
    return m
