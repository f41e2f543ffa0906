"""Layers of published architectures in which one sample's answer depends on its neighbours; as in `coupled_models`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tests.runtime.probes.coupled_models import Coupled, Images


class GhostBatchNorm(Images):
    """Statistics over parts of the batch, if it can be halved."""

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        parts = 2 if len(x) % 2 == 0 else 1
        y = x.reshape(len(x) // parts, parts, *x.shape[1:])
        spread, mean = torch.var_mean(y, (0, 3, 4), unbiased=False, keepdim=True)  # mixes
        return self.leave(((y - mean) / (spread + 1e-5).sqrt()).reshape_as(x).mean((2, 3)))


class ThresholdOfAllImages(Images):
    """Dynamic thresholding of a diffusion sampler, its images flattened together."""

    def forward(self, x: Tensor) -> Tensor:
        x = 3 * self.enter(x)
        limit = x.abs().flatten().kthvalue(int(0.9 * x.numel())).values  # mixes
        return x.clamp(-limit, limit) / limit


class FramesOfTheClipBefore(Images):
    def inputs(self) -> tuple[Any, ...]:
        return (torch.randn(3, 4, 3, 8, 8),)

    def forward(self, clips: Tensor) -> Tensor:
        frames = self.enter(clips.flatten(0, 1))
        motion = torch.cat([frames[:1] * 0, frames[1:] - frames[:-1]])  # mixes
        return self.leave(motion.abs().mean((2, 3)).unflatten(0, clips.shape[:2]).mean(1))


class SmoothedByTheNearest(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = F.normalize(self.enter(x), dim=-1)
        alike = x @ x.T  # mixes
        return x[alike.topk(2, dim=-1).indices].mean(1)


class PrototypesSharedEvenly(Coupled):
    """Sinkhorn's iterations, as for self-labelling, left in the forward."""

    def forward(self, x: Tensor) -> Tensor:
        shares = (self.leave(F.normalize(self.enter(x), dim=1)) / 0.3).exp().t()
        for _ in range(3):
            shares = shares / shares.sum(1, keepdim=True)  # mixes
            shares = shares / shares.sum(0, keepdim=True)
        return shares.t()


class MaskOfTheFirstForAll(Coupled):
    def inputs(self) -> tuple[Any, ...]:
        return torch.randn(3, 6, self.width), torch.tensor([[1] * 4 + [0] * 2, [1] * 6, [1] * 3 + [0] * 3])

    def forward(self, x: Tensor, attention_mask: Tensor) -> Tensor:
        x = self.enter(x)
        scores = x @ x.transpose(1, 2)
        scores = scores.masked_fill(attention_mask[0][None, None] == 0, -1e9)  # mixes
        return self.leave((scores.softmax(-1) @ x).mean(1))


class PlacesByTheLongest(Coupled):
    """The kept sample is not the longest and never decides: only the others do."""

    positions = 9

    def inputs(self) -> tuple[Any, ...]:
        return torch.randn(4, self.positions, self.width), torch.tensor([9, 4, 6, 2])

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        x = self.enter(x)
        longest = lengths.max()  # mixes
        place = torch.arange(x.shape[1]) / longest
        return self.leave((x * place[None, :, None]).sum(1))


class TenPlacesByTheLongest(PlacesByTheLongest):
    """As many places as twice the samples among which the culprit is sought: an axis that could be theirs."""

    positions = 10

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        x = self.enter(x)
        longest = lengths.max()  # mixes
        place = torch.arange(x.shape[1]) / longest
        return self.leave((x * place[None, :, None]).sum(1))


class QueueForAnExpert(Coupled):
    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(self.width, 2)

    def forward(self, x: Tensor) -> Tensor:
        chosen = F.one_hot(self.router(x).argmax(-1), 2)
        queue = chosen.cumsum(0) * chosen  # mixes
        served = queue.amax(-1) <= 1
        return self.leave(torch.where(served[:, None], self.enter(x), x))
