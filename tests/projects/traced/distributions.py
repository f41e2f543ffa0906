# input: float32[2,4]
"""Sampling through torch.distributions; the mean alone would be silent."""
import torch
from torch import nn
from torch.distributions import Categorical, Normal


class Net(nn.Module):
    def forward(self, x):
        mean = Normal(x, 1.0).mean

        choice = Categorical(logits=x).sample()  # want: ML603

        return Normal(mean, 1.0).rsample() + choice[:, None]  # want: ML603


def build():
    return Net().eval()
