# input: float32[2,3,8,8]
"""Weights are standardised with F.batch_norm: nothing to report."""
import torch.nn.functional as F
from torch import nn


class StdConv(nn.Conv2d):
    def forward(self, x):
        scaled = self.weight * 2.0
        weight = F.batch_norm(scaled.reshape(1, self.out_channels, -1), None, None, training=True, momentum=0.0)
        return F.conv2d(x, weight.reshape_as(self.weight), self.bias)


def build():
    return nn.Sequential(StdConv(3, 4, 3), nn.ReLU()).eval()
