"""The layers that the fault classifier is built from."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Stem(nn.Module):
    """Turns a recording, float32[B, 1, L], into features, float32[B, width, L / 16].

    After `freeze()` its statistics stay as they are while the rest is tuned to a new machine.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, width, kernel_size=64, stride=8, padding=28)
        self.norm = nn.BatchNorm1d(width)
        self.pool = nn.MaxPool1d(2)
        self.frozen = False

    def freeze(self) -> None:
        self.frozen = True
        self.requires_grad_(False)

    def train(self, mode: bool = True) -> Stem:
        super().train(mode)
        if self.frozen:
            self.norm.eval()
        return self

    def forward(self, signal: torch.Tensor) -> torch.Tensor:
        return self.pool(F.relu(self.norm(self.conv(signal))))


class Branch(nn.Module):
    """A residual convolution with a kernel of its own length: float32[B, width, T] to the same shape."""

    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(width, width, kernel, padding=kernel // 2)
        self.norm = nn.BatchNorm1d(width)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return features + F.relu(self.norm(self.conv(features)))


class TemporalAttention(nn.Module):
    """Self-attention over time: float32[B, T, width] to the same shape."""

    def __init__(self, width: int, heads: int = 4, dropout: float = 0.2) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, steps: torch.Tensor) -> torch.Tensor:
        batch, time, width = steps.shape
        projected = self.project(steps).view(batch, time, 3, self.heads, width // self.heads)
        query, key, value = projected.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(
            query, key, value, dropout_p=self.dropout if self.training else 0.0
        )
        return steps + self.out(mixed.transpose(1, 2).reshape(batch, time, width))
