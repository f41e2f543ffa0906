# input: float32[2,8]
"""inference_mode(False) turns recording on again."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        with torch.inference_mode(False):
            return self.fc(x.clone())  # want: ML604


def build():
    return Net().eval()
