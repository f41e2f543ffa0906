"""Twelve models, each with a factory: written by hand, to be inspected eagerly and as the files made of them."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn


class Clean(nn.Module):
    """Everything in evaluation mode: nothing to find."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.1))

    def forward(self, x: Tensor) -> Tensor:
        return self.stem(x).mean((2, 3))


class Guarded(nn.Module):
    """Noise and dropout for training alone."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            x = x + torch.randn_like(x)
        return F.dropout(self.fc(x), 0.5, self.training)


class StandardisedWeights(nn.Module):
    """A batch norm over weights is none over the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 8))

    def forward(self, x: Tensor) -> Tensor:
        weight = F.batch_norm(self.weight.t(), None, None, training=True).t()
        return F.linear(x, weight)


class Plain(nn.Module):
    """A dropout in training mode."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.drop = nn.Dropout(0.25)

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(self.fc(x))


class AlwaysOn(nn.Module):
    """A functional dropout whose flag nobody gave."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        x = F.dropout(self.fc(x), 0.4)
        return F.relu(x)


class TrainingNorm(nn.Module):
    """A batch norm in training mode."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x: Tensor) -> Tensor:
        x = self.fc(x)
        return self.norm(x)


class NoStatistics(nn.Module):
    """A batch norm without running statistics, in evaluation mode."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(3, track_running_stats=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x) * 2


class Noisy(nn.Module):
    """A draw that nothing guards."""

    def forward(self, x: Tensor) -> Tensor:
        noise = torch.rand_like(x)
        return x + 0.1 * noise


class Block(nn.Module):
    """A part of `Deep`."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.drop = nn.Dropout(0.2)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.drop(self.fc(x))


class Deep(nn.Module):
    """One line that several modules run."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block(), Block()])

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x


class Attention(nn.Module):
    """Dropout inside scaled dot product attention."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        return F.scaled_dot_product_attention(q, k, v, dropout_p=0.1)


class Recurrent(nn.Module):
    """Dropout between the layers of an LSTM in training mode."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(8, 8, num_layers=2, dropout=0.3, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.rnn(x)[0]


class UnderNoGrad(nn.Module):
    """A dropout inside a block of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            x = F.dropout(x, 0.3)
        return self.fc(x)


ROWS, PICTURES, SEQUENCES = "float32[3,8]", "float32[3,3,8,8]", "float32[3,5,8]"
CASES = {
    "Clean": PICTURES, "Guarded": ROWS, "StandardisedWeights": ROWS, "Plain": ROWS, "AlwaysOn": ROWS,
    "TrainingNorm": ROWS, "NoStatistics": PICTURES, "Noisy": ROWS, "Deep": ROWS, "Attention": SEQUENCES,
    "Recurrent": SEQUENCES, "UnderNoGrad": ROWS,
}  # fmt: skip
TRAINING = ("Plain", "TrainingNorm", "Deep", "Recurrent")


def make(name: str) -> nn.Module:
    """Return the model `name` in the mode in which it is inspected."""
    return globals()[name]().train(name in TRAINING)
