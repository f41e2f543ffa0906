"""Models in which one sample's answer depends on its neighbours. The line that mixes them ends in `# mixes`.

`inputs` returns the example inputs; the class name says what is wrong.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812


class Coupled(nn.Module):
    """A layer in, a layer out; between them, the defect. What `draws` never gives the same answer twice."""

    width = 8
    draws = False

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Linear(self.width, self.width)
        self.leave = nn.Linear(self.width, 4)

    def inputs(self) -> tuple[Any, ...]:
        return (torch.randn(4, self.width),)


class Sequences(Coupled):
    """The same over (samples, positions, features)."""

    def inputs(self) -> tuple[Any, ...]:
        return (torch.randn(4, 6, self.width),)


class Images(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Conv2d(3, 8, 3, padding=1)
        self.leave = nn.Linear(8, 4)

    def inputs(self) -> tuple[Any, ...]:
        return (torch.randn(4, 3, 8, 8),)


class MeanSubtracted(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        return self.leave(x - x.mean(0))  # mixes


class DividedByDeviation(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        spread = x.std(0, unbiased=False)  # mixes
        return self.leave(x / (spread + 1e-5))


class MeanOfEverything(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        x = x - x.mean()  # mixes
        return self.leave(x)


class SoftmaxOverSamples(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        return self.leave(self.enter(x)).softmax(0)  # mixes


class SoftmaxWithoutAxis(Sequences):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        weight = F.softmax(x, dim=0)  # mixes
        return self.leave(x * weight).mean(1)


class LogSoftmaxOverSamples(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        return F.log_softmax(self.leave(self.enter(x)), dim=0)  # mixes


class NormalisedColumns(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = F.normalize(self.enter(x), dim=0)  # mixes
        return self.leave(x)


class NormOfTheBatch(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        length = x.norm()  # mixes
        return self.leave(x / length)


class BatchStatistics(Coupled):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(8, track_running_stats=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.leave(self.norm(self.enter(x)))  # mixes


class BatchStatisticsOfImages(Images):
    def forward(self, x: Tensor) -> Tensor:
        x = F.batch_norm(self.enter(x), None, None, training=True)  # mixes
        return self.leave(x.mean((2, 3)))


class NormOverSamplesAndFeatures(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        x = F.layer_norm(x, x.shape)  # mixes
        return self.leave(x)


class GroupNormOverTheTransposed(Sequences):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x).permute(1, 0, 2)
        x = F.layer_norm(x, x.shape[1:])  # mixes
        return self.leave(x.permute(1, 0, 2).mean(1))


class LargestOfTheBatch(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        x = x / x.abs().max()  # mixes
        return self.leave(x)


class DynamicInt8(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        low, high = x.aminmax()  # mixes
        step = (high - low) / 255
        return self.leave(((x - low) / step).round() * step + low)


class DynamicInt8ByColumn(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        scale = x.abs().amax(dim=0) / 127  # mixes
        return self.leave((x / scale).round() * scale)


class ScaleThroughPython(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        scale = float(x.abs().max())  # mixes
        return self.leave(x / scale)


class ClippedAtAQuantile(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        limit = torch.quantile(x, 0.5)  # mixes
        return self.leave(x.clamp(max=limit))


class MedianThreshold(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        return self.leave(torch.where(x > x.median(), x, 0.0))  # mixes


class ExpertsOfLimitedCapacity(Coupled):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 2)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        weight = self.gate(x).softmax(-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            chosen = weight[:, number].topk(2).indices  # mixes
            out = out.index_add(0, chosen, weight[chosen, number, None] * expert(x[chosen]))
        return self.leave(out)


class PositionInTheQueue(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        wants = (x.sum(-1) > 0).long()
        place = wants.cumsum(0)  # mixes
        return self.leave(x * (place <= 1).float()[:, None])


class BestOfTheBatch(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        best = x.sum(-1).argmax()  # mixes
        return self.leave(x - x[best])


class RankedInTheBatch(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.leave(self.enter(x))
        return x.argsort(0).argsort(0).float()  # mixes


class AttentionOverSamples(Coupled):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        weight = (q @ k.t() / 8**0.5).softmax(-1)  # mixes
        return self.leave(weight @ v)


class AttentionOverTheWrongAxis(Sequences):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        x = x + self.attention(x, x, x, need_weights=False)[0]  # mixes
        return self.leave(x.mean(1))


class FusedAttentionOverTheWrongAxis(Sequences):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x).transpose(0, 1)
        x = F.scaled_dot_product_attention(x, x, x)  # mixes
        return self.leave(x.transpose(0, 1).mean(1))


class CausalOverTheBatch(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        mask = torch.ones(len(x), len(x)).tril().bool()
        x = F.scaled_dot_product_attention(x[None], x[None], x[None], attn_mask=mask)[0]  # mixes
        return self.leave(x)


class RunningSum(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        return self.leave(self.enter(x).cumsum(0))  # mixes


class DifferenceToTheOneBefore(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        return self.leave(x - x.roll(1, 0))  # mixes


class RecurrentOverTheBatch(Sequences):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        x, _ = self.rnn(self.enter(x))  # mixes
        return self.leave(x[:, -1])


class ConvolvedOverTheBatch(Coupled):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(8, 8, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        x = self.conv(x.t()[None])[0].t()  # mixes
        return self.leave(x)


class PooledOverTheBatch(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        x = F.max_pool1d(x.t()[None], 3, 1, 1)[0].t()  # mixes
        return self.leave(x)


class WrongView(Sequences):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        x = x.reshape(x.shape[1], x.shape[0], 8).transpose(0, 1)  # mixes
        return self.leave(x.mean(1))


class ViewInsteadOfTranspose(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        x = x.view(8, len(x)).t()  # mixes
        return self.leave(x)


class FlattenedAndDealtOut(Sequences):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x).flatten(0, 1)
        x = x.view(6, -1, 8)  # mixes
        return self.leave(x.mean(0))


class TurnedAround(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        return self.leave(self.enter(x)).flip(0)  # mixes


class SortedBySomething(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        x = x[x.sum(-1).argsort()]  # mixes
        return self.leave(x)


class MatrixOfTheBatch(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        covariance = x.t() @ x  # mixes
        return self.leave(x @ covariance)


class Whitened(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        _, sizes, axes = torch.linalg.svd(x, full_matrices=False)  # mixes
        return self.leave(x @ (axes.t() / sizes) @ axes)


class NearestNeighbour(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        distance = torch.cdist(x, x) + 1e9 * torch.eye(len(x))  # mixes
        return self.leave(x + x[distance.argmin(-1)])


class BranchOnTheSum(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        if x.sum() > 0:  # mixes
            x = x * 2
        return self.leave(x)


class BranchOnTheLargest(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        if bool((x.abs() > 6).any()):  # mixes
            x = x / 2
        return self.leave(x)


class LoopsUntilAllAreDone(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        for _ in range(5):
            if x.abs().max() < 1:  # mixes
                break
            x = x / 2
        return self.leave(x)


class SharedPrototype(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        prototype = x[:1]
        return self.leave(x - prototype)  # mixes


class MixedUp(Images):
    def forward(self, x: Tensor) -> Tensor:
        x = 0.7 * x + 0.3 * x.flip(0)  # mixes
        return self.leave(self.enter(x).mean((2, 3)))


class MinibatchDiscrimination(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        gap = (x[:, None] - x[None]).abs().sum(-1)  # mixes
        return self.leave(x + (-gap).exp().sum(1, keepdim=True))


class StandardDeviationChannel(Images):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        spread = x.std(0, unbiased=False).mean()  # mixes
        return self.leave(x.mean((2, 3))) + spread


class TwoInputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.image = nn.Linear(6, 5)
        self.text = nn.Embedding(50, 5)

    def inputs(self) -> tuple[Any, ...]:
        return torch.randn(4, 6), torch.randint(0, 50, (4, 7))

    def forward(self, image: Tensor, text: Tensor) -> dict[str, Tensor]:
        left, right = self.image(image), self.text(text).mean(1)
        return {"image": left, "text": right - right.mean(0)}  # mixes


class ListOfBoxes(Images):
    def forward(self, x: Tensor) -> list[dict[str, Tensor]]:
        x = self.enter(x).flatten(2).transpose(1, 2)
        scale = x.amax()  # mixes
        return [{"boxes": boxes, "scores": boxes.sum(-1)} for boxes in x / scale]


class ATinyShareOfTheOthers(Coupled):
    """Within the tolerance, and no rounding: it stays in double precision."""

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        return self.leave(x + 3e-6 * x.mean(0))  # mixes


class BankOfEarlierSamples(Coupled):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("bank", torch.randn(16, self.width))

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        bank = torch.cat([self.bank, x])[-16:]
        weights = (x @ bank.T).softmax(-1)  # mixes
        return self.leave(weights @ bank)


class CentreThatFollowsTheData(Coupled):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("center", torch.zeros(self.width))

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        self.center = self.center * 0.9 + x.mean(0) * 0.1  # mixes
        return self.leave(x - self.center)


class SummedOverTheOtherLetter(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        gram = torch.einsum("bi,bj->ij", x, x)  # mixes
        return self.leave(x @ gram)


class SortedByLengthAndLeftSo(Sequences):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(self.width, self.width, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        lengths, order = (x[..., 0] > 0).sum(1).clamp(min=1).sort(descending=True)
        x = x[order]  # mixes
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return self.leave(self.rnn(packed)[1][-1])


class BeamsOfAllSamples(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        scores = self.leave(self.enter(x)).log_softmax(-1)
        best = scores.reshape(-1).topk(4).indices  # mixes
        return scores.reshape(-1)[best].reshape(4, 1) + x


class NucleusOfTheBatch(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        probabilities = self.leave(self.enter(x)).softmax(-1)
        ranked = probabilities.flatten().sort(descending=True).values  # mixes
        inside = ranked.cumsum(0) < 0.8 * ranked.sum()
        least = ranked[inside.sum()]
        return torch.where(probabilities >= least, probabilities, torch.zeros_like(probabilities))


class QuantisedByOneScale(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        return self.leave(torch.quantize_per_tensor_dynamic(x, torch.qint8, False).dequantize())  # mixes


class GatedByAMeanOfAllImages(Images):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        gate = x.mean((0, 2, 3)).sigmoid()  # mixes
        return self.leave(x.mean((2, 3)) * gate)


class BroadcastTheWrongWay(Coupled):
    """As many samples as features: without `keepdim` the means meet the wrong rows."""

    def inputs(self) -> tuple[Any, ...]:
        return (torch.randn(8, self.width),)

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        return x - x.mean(1)  # mixes


class RanksAmongAllWords(Coupled):
    def inputs(self) -> tuple[Any, ...]:
        return (torch.randint(0, 20, (4, 6)),)

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(64, self.width)

    def forward(self, ids: Tensor) -> Tensor:
        _, ranks = ids.unique(return_inverse=True)  # mixes
        return self.embed(ranks)


class ScaledByTheDarkestAndTheBrightest(Images):
    def forward(self, x: Tensor) -> Tensor:
        x = (x - x.min()) / (x.max() - x.min())  # mixes
        return self.enter(x)


class LeavesOnceAllAreLarge(Coupled):
    """The kept sample alone decides nothing: only the others are small."""

    def inputs(self) -> tuple[Any, ...]:
        return (torch.randn(4, self.width) * torch.tensor([[20.0], [1.0], [1.0], [1.0]]),)

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(3):
            x = self.enter(x)
            if bool((x.abs().amax(-1) > 2).all()):  # mixes
                break
        return self.leave(x)


class HeadByTheMeanOfTheBatch(Coupled):
    def __init__(self) -> None:
        super().__init__()
        self.other = nn.Linear(self.width, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        return self.other(x) if x.mean() > 0 else self.leave(x)  # mixes


class PackedByLengthAndLeftSo(nn.Module):
    """The first is the longest, the last the shortest: none of the others can take their rank."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(8, 6, batch_first=True)

    def inputs(self) -> tuple[Any, ...]:
        return torch.randn(4, 7, 8), torch.tensor([7, 5, 4, 3])

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        lengths, order = lengths.sort(descending=True)
        packed = nn.utils.rnn.pack_padded_sequence(x[order], lengths, batch_first=True)  # mixes
        return self.rnn(packed)[1][-1]


class MixedByAMatrixOfAnySize(Sequences):
    """Rows are samples, since any number of them will do."""

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        mix = torch.ones(len(x), len(x)).softmax(-1)
        return self.leave(torch.einsum("cb,bpd->cpd", mix, x))  # mixes


class LooksAtTheRawInputTwice(Coupled):
    """One of the two ways to use the input gives it no leading axis."""

    def forward(self, x: Tensor) -> Tensor:
        return self.leave((x[:, None] - x[None]).abs().amax(1))  # mixes
