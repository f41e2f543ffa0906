# input: float32[2,4]
"""Hooks that add noise and dropout, and one that only looks."""

import torch
import torch.nn.functional as F
from torch import nn


def noise(module, args, output):
    return output + torch.randn_like(output)  # want: ML603


def pre(module, args):
    return (F.dropout(args[0], 0.2),)  # want: ML601


def log(module, args, output):
    module.seen = output.mean().item()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
        self.a.register_forward_hook(noise)
        self.b.register_forward_pre_hook(pre)
        self.c.register_forward_hook(log)

    def forward(self, x):
        return self.c(self.b(self.a(x)))


def build():
    return Net().eval()
