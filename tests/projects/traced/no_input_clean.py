"""No input, everything right: nothing to report."""
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.1))

    def forward(self, x, mask=None):
        x = F.dropout(self.body(x), 0.2, self.training)
        if mask is not None:
            x = x * mask
        return x


def build():
    return Net().eval()
