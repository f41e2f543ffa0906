# input: float32[5,2,8]
"""multi_head_attention_forward trains unless it is told not to."""
from functools import partial

import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, dropout=0.2)

    def forward(self, x):
        own = self.attention
        x, _ = own(x, x, x)
        attend = partial(
            F.multi_head_attention_forward,
            embed_dim_to_check=8,
            num_heads=2,
            in_proj_weight=own.in_proj_weight,
            in_proj_bias=own.in_proj_bias,
            bias_k=None,
            bias_v=None,
            add_zero_attn=False,
            dropout_p=0.2,
            out_proj_weight=own.out_proj.weight,
            out_proj_bias=own.out_proj.bias,
        )
        x, _ = attend(x, x, x, training=self.training)
        x, _ = attend(x, x, x)  # want: ML601
        return x


def build():
    return Net().eval()
