# input: float32[2,3,8,8]
"""Weights modulated by the input, samples folded into channels."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    "modulated convolution (StyleGAN): weights depend on the input, norm of groups"

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 3, 3, 3))
        self.style = nn.Linear(3, 3)

    def forward(self, x):
        s = self.style(x.mean((2, 3)))
        w = self.weight[None] * s[:, None, :, None, None]
        d = torch.rsqrt(w.square().sum((2, 3, 4), keepdim=True) + 1e-8)
        w = (w * d).reshape(-1, 3, 3, 3)
        n = x.shape[0]
        y = F.conv2d(x.reshape(1, -1, 8, 8), w, groups=n)
        y = F.instance_norm(y.reshape(n, 4, 6, 6))
        y = F.batch_norm(y.reshape(1, -1, 6, 6), None, None, training=True).reshape(n, 4, 6, 6)
        return y


def build():
    return Net().eval()
