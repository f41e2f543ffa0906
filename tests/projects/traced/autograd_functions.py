# input: float32[2,4]
"""A straight-through estimator and a stochastic rounding."""

import torch
from torch import nn


class STE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g


class Stochastic(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return (x + torch.rand_like(x)).floor()  # want: ML603

    @staticmethod
    def backward(ctx, g):
        return g


class Net(nn.Module):
    def forward(self, x):
        return STE.apply(x) + Stochastic.apply(x)


def build():
    return Net().eval()
