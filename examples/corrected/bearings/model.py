"""The fault classifier."""

from __future__ import annotations

import torch
from torch import nn

from bearings.blocks import Branch, Stem, TemporalAttention
from bearings.signals import CLASSES


class FaultNet(nn.Module):
    """Recordings, float32[B, 1, L], to one logit a class, float32[B, 4]."""

    def __init__(self, width: int = 16, dropout: float = 0.3) -> None:
        super().__init__()
        self.stem = Stem(width)
        self.branches = nn.ModuleList([Branch(width, kernel) for kernel in (3, 9, 27)])
        self.attention = TemporalAttention(3 * width)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(3 * width, len(CLASSES))

    def forward(self, signal: torch.Tensor) -> torch.Tensor:
        features = self.stem(signal)
        features = torch.cat([branch(features) for branch in self.branches], dim=1)
        features = self.attention(features.transpose(1, 2)).mean(dim=1)
        features = self.drop(features)
        return self.head(features)
