# input: float32[2,2,5,8]
"""Attention with a dropout_p that does not listen, and one that does."""
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    p = 0.1

    def forward(self, x):
        x = F.scaled_dot_product_attention(x, x, x, dropout_p=self.p if self.training else 0.0)

        x = F.scaled_dot_product_attention(x, x, x, dropout_p=self.p)  # want: ML601

        return F.scaled_dot_product_attention(x, x, x, None, self.p)  # want: ML601


def build():
    return Net().eval()
