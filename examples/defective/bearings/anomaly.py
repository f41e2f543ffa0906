"""A denoising autoencoder of healthy machines: what it cannot rebuild is unusual."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from bearings.signals import BINS


class Autoencoder(nn.Module):
    """Spectra, float32[B, BINS], to their reconstruction of the same shape."""

    def __init__(self, width: int = 32, noise: float = 0.2, dropout: float = 0.1) -> None:
        super().__init__()
        self.noise = noise
        self.dropout = dropout
        self.encode = nn.Linear(BINS, width)
        self.norm = nn.BatchNorm1d(width)
        self.decode = nn.Linear(width, BINS)

    def forward(self, spectra: torch.Tensor) -> torch.Tensor:
        spectra = spectra + self.noise * torch.randn_like(spectra)
        code = F.relu(self.norm(self.encode(spectra)))
        code = F.dropout(code, self.dropout)
        return self.decode(code)
