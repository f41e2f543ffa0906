# input: float32[2,4]
"""torch.func.vmap and jacrev around a method with an inactive dropout."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.drop = nn.Dropout(0.5)

    def one(self, x):
        return self.drop(self.fc(x))

    def forward(self, x):
        j = torch.func.vmap(torch.func.jacrev(self.one))(x)
        return j.sum(1) + torch.func.vmap(self.one)(x)


def build():
    return Net().eval()
