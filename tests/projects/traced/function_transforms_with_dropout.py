# input: float32[2,4]
"""Dropout inside torch.func.vmap."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def one(self, x):
        return F.dropout(self.fc(x), 0.5)  # want: ML601

    def forward(self, x):
        y = torch.func.vmap(self.fc)(x)
        y = torch.func.functional_call(self.fc, dict(self.fc.named_parameters()), (y,))
        return torch.func.vmap(self.one, randomness="different")(y)


def build():
    return Net().eval()
