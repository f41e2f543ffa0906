# input: float32[2,8]
"""A model without data: built on the meta device."""
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        return F.dropout(self.fc(x), 0.5) + torch.randn_like(x)  # want: ML601 ML603


def build():
    with torch.device("meta"):
        return Net().eval()
