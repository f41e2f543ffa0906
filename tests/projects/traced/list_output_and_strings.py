# input: texts=['a b', 'c']
"""The model takes text and makes its own tensors."""
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 8)
        self.norm = nn.BatchNorm1d(8, track_running_stats=False)

    def forward(self, texts):
        ids = torch.tensor([[ord(text[0]) % 30] for text in texts])
        x = self.embed(ids)[:, 0]

        x = self.norm(x)  # want: ML602

        return {"score": F.dropout(x, 0.1), "n": len(texts)}  # want: ML601


def build():
    return Net().eval()
