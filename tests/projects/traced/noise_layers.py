# input: float32[2,3,8,8]
"""Gumbel noise, Gaussian noise, RReLU in training, fractional pooling."""
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.RReLU()
        self.pool = nn.FractionalMaxPool2d(2, output_size=4)

    def forward(self, x):
        x = x + 0.1 * torch.randn_like(x)  # want: ML603

        x = F.gumbel_softmax(x)  # want: ML603

        x = self.act(x)

        x = self.pool(x)  # want: ML603

        return x + x.new_empty(x.shape).normal_()  # want: ML603


def build():
    return Net().eval()
