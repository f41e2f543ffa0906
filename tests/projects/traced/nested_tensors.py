# input: float32[3,5,8]
"""Nested tensors and the fast path of the transformer encoder."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.1, batch_first=True), 2)

    def forward(self, x):
        n = torch.nested.nested_tensor([x[0, :2], x[1, :3], x[2]])
        x = x + torch.nested.to_padded_tensor(n, 0.0)
        mask = torch.arange(5)[None] >= torch.tensor([2, 3, 5])[:, None]
        return self.enc(x, src_key_padding_mask=mask)


def build():
    return Net().eval()
