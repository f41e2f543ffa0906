# input: float32[4,8]
"""F.batch_norm with training left on; running statistics are given and ignored."""
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        x = F.batch_norm(x, self.norm.running_mean, self.norm.running_var, training=self.training)

        return F.batch_norm(x, self.norm.running_mean, self.norm.running_var, training=True)  # want: ML602


def build():
    return Net().eval()
