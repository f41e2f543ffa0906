# input: float32[2,4]
"""Parametrisations that draw, that drop in training only, that compute."""

import torch
from torch import nn
from torch.nn.utils import parametrize


class Noisy(nn.Module):
    def forward(self, w):
        return w + 0.1 * torch.randn_like(w)  # want: ML603


class Drop(nn.Module):
    def forward(self, w):
        return nn.functional.dropout(w, 0.5, self.training)


class Sym(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).mT


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = parametrize_(nn.Linear(4, 4), Noisy())
        self.b = parametrize_(nn.Linear(4, 4), Drop())
        self.c = parametrize_(nn.Linear(4, 4), Sym())

    def forward(self, x):
        return self.c(self.b(self.a(x)))


def parametrize_(m, p):
    parametrize.register_parametrization(m, "weight", p)
    return m


def build():
    return Net().eval()
