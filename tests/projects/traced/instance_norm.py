# input: float32[2,3,8,8]
"""Instance norm without running statistics, also written with F.instance_norm and by folding: nothing to report."""
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.InstanceNorm2d(3, affine=True)

    def forward(self, x):
        x = F.instance_norm(self.norm(x))
        b, c, h, w = x.shape
        return F.batch_norm(x.reshape(1, b * c, h, w), None, None, training=True).reshape(b, c, h, w)


def build():
    return Net().eval()
