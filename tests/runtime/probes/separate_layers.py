"""Layers of published architectures that keep their samples apart, near as they come to `coupled_layers`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tests.runtime.probes.coupled_models import Coupled, Images, Sequences


class ThresholdOfEachImage(Images):
    def forward(self, x: Tensor) -> Tensor:
        x = 3 * self.enter(x)
        limit = x.abs().flatten(1).kthvalue(int(0.9 * x[0].numel())).values[:, None, None, None]
        return x.clamp(-limit, limit) / limit


class FramesOfTheSameClip(Images):
    def inputs(self) -> tuple[Any, ...]:
        return (torch.randn(3, 4, 3, 8, 8),)

    def forward(self, clips: Tensor) -> Tensor:
        frames = self.enter(clips.flatten(0, 1)).unflatten(0, clips.shape[:2])
        motion = torch.cat([frames[:, :1] * 0, frames[:, 1:] - frames[:, :-1]], 1)
        return self.leave(motion.abs().mean((1, 3, 4)))


class ExpertsWithoutLimit(Sequences):
    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(self.width, 4)
        self.experts = nn.ModuleList(nn.Linear(self.width, self.width) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        flat = x.flatten(0, 1)
        share, chosen = self.router(flat).softmax(-1).topk(2, -1)
        out = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            rows, slot = (chosen == number).nonzero(as_tuple=True)
            out.index_add_(0, rows, share[rows, slot, None] * expert(flat[rows]))
        return self.leave(out.view_as(x))


class SortedByLengthAndBack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(8, 6, batch_first=True, bidirectional=True)

    def inputs(self) -> tuple[Any, ...]:
        return torch.randn(4, 6, 8), torch.tensor([3, 6, 2, 5])

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        lengths, order = lengths.sort(descending=True)
        packed = nn.utils.rnn.pack_padded_sequence(x[order], lengths, batch_first=True)
        out, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True, total_length=x.shape[1])
        return out[order.argsort()]


class EachStopsWhenItIsDone(Coupled):
    """The batch runs on until all are done, which changes nothing for those that are."""

    def forward(self, x: Tensor) -> Tensor:
        done = torch.zeros(len(x), 1, dtype=torch.bool)
        for _ in range(6):
            if bool(done.all()):
                break
            x = torch.where(done, x, torch.tanh(self.enter(x)))
            done = done | (self.leave(x).sum(-1, keepdim=True) > 0)
        return x


class SkipsABranchNobodyNeeds(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        needed = self.leave(x).amax(-1, keepdim=True) > 0
        return torch.where(needed, self.enter(x), x) if bool(needed.any()) else x


class Int8ByRow(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-8) / 127
        return F.linear((x / scale).round(), self.enter.weight) * scale + self.enter.bias


class TableOfPlacesThatGrows(Sequences):
    """Made by the first forward that needs it, and the same each time."""

    table: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        if self.table is None or len(self.table) < x.shape[1]:
            angles = torch.arange(x.shape[1])[:, None] * 10000 ** (-torch.arange(0, self.width, 2) / self.width)
            self.table = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
        return self.leave(self.enter(x) + self.table[: x.shape[1]])


class FollowsTheDataInTrainingOnly(Coupled):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(self.width))

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        if self.training:
            self.mean.lerp_(x.mean(0).detach(), 0.1)
        return self.leave(x - self.mean)


class CountsItsCallsAndKeepsTheLast(Coupled):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.last = self.leave(self.enter(x)).detach()
        return self.last
