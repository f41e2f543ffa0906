# input: float32[4,4]
"""A sparse buffer, an embedding that renormalises its weights."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("adj", torch.eye(4).to_sparse())
        self.emb = nn.EmbeddingBag(10, 4, mode="sum")
        self.e2 = nn.Embedding(10, 4, max_norm=1.0)

    def forward(self, x):
        ids = x.abs().long() % 10
        return torch.sparse.mm(self.adj, x) + self.emb(ids) + self.e2(ids).sum(1)


def build():
    return Net().eval()
