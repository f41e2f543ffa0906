# input: float32[2,8]
# options: --method encode
"""The entry point is not forward."""
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def encode(self, x):
        return F.dropout(self.fc(x), 0.1)  # want: ML601

    def forward(self, x):
        raise NotImplementedError


def build():
    return Net().eval()
