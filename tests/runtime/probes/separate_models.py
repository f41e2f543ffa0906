"""Models that keep their samples apart, or couple them by design. `verdict` says what the probe must answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from modellint.runtime.probes.result import VACUOUS
from tests.runtime.probes.coupled_models import Coupled, Images, Sequences


class ScaleOfOneSample(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        return self.leave(x / x.abs().amax(-1, keepdim=True))


class BatchNormInEvaluation(Images):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x: Tensor) -> Tensor:
        return self.leave(self.norm(self.enter(x)).mean((2, 3)))


class InstanceNorm(Images):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.InstanceNorm2d(8)

    def forward(self, x: Tensor) -> Tensor:
        return self.leave(self.norm(self.enter(x)).amax((2, 3)))


class GroupNorm(Images):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(2, 8)

    def forward(self, x: Tensor) -> Tensor:
        return self.leave(self.norm(self.enter(x)).amax((2, 3)))


class StandardisedWeights(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        weight = self.enter.weight
        weight = F.batch_norm(weight.reshape(1, 8, -1), None, None, training=True).reshape_as(weight)
        return self.leave(F.linear(x, weight))


class AttentionOverPositions(Sequences):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.leave(self.attention(x, x, x)[0].mean(1))


class SamplesAlongTheSecondAxis(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16)

    def inputs(self) -> tuple[Any, ...]:
        return (torch.randn(7, 4, 8),)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


class RecurrentAlongTheFirstAxis(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(8, 6, 2)
        self.head = nn.Linear(6, 3)

    def inputs(self) -> tuple[Any, ...]:
        return (torch.randn(5, 4, 8),)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.rnn(x)[0][-1])


class SourceAndTarget(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.transformer = nn.Transformer(8, 2, 1, 1, 16)

    def inputs(self) -> tuple[Any, ...]:
        return torch.randn(10, 4, 8), torch.randn(6, 4, 8)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        return self.transformer(src, tgt)


class SequenceWithoutABatch(nn.Module):
    verdict = VACUOUS

    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(8, 6)

    def inputs(self) -> tuple[Any, ...]:
        return (torch.randn(5, 8),)

    def forward(self, x: Tensor) -> Tensor:
        return self.rnn(x)[0]


class TurnedToTheSecondAxis(Sequences):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        x, _ = self.rnn(self.enter(x).transpose(0, 1))
        return self.leave(x[-1])


class SimilaritiesOfAllPairs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.image = nn.Linear(6, 5)
        self.text = nn.Linear(8, 5)

    def inputs(self) -> tuple[Any, ...]:
        return torch.randn(4, 6), torch.randn(4, 8)

    def forward(self, image: Tensor, text: Tensor) -> tuple[Tensor, Tensor]:
        left, right = F.normalize(self.image(image), dim=-1), F.normalize(self.text(text), dim=-1)
        logits = left @ right.t()
        return logits, logits.t()


class PairsAndTheLossOfThem(SimilaritiesOfAllPairs):
    def forward(self, image: Tensor, text: Tensor) -> Any:
        logits, _ = super().forward(image, text)
        return {"loss": F.cross_entropy(logits, torch.arange(len(logits))), "logits": logits}


class ImagesAgainstClasses(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.image = nn.Linear(6, 5)
        self.text = nn.Embedding(50, 5)

    def inputs(self) -> tuple[Any, ...]:
        return torch.randn(4, 6), torch.randint(0, 50, (7, 3))

    def forward(self, image: Tensor, text: Tensor) -> Tensor:
        return (self.image(image) @ self.text(text).mean(1).t()).softmax(-1)


class ScalarOfTheBatchBesideTheAnswers(Coupled):
    def forward(self, x: Tensor) -> dict[str, Any]:
        y = self.leave(self.enter(x))
        return {"logits": y, "mean": y.mean(), "size": len(y), "name": "scores"}


class RefusesAbsurdValues(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        if x.sum() > 1e9:
            raise OverflowError("out of range")
        return self.leave(x)


class GraphOfNodes(nn.Module):
    verdict = VACUOUS

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def inputs(self) -> tuple[Any, ...]:
        return torch.randn(5, 8), torch.randint(0, 5, (2, 9))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = self.fc(x)
        return x.index_add(0, edge_index[1], x[edge_index[0]])


class AdjacencyOfNodes(nn.Module):
    verdict = VACUOUS

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def inputs(self) -> tuple[Any, ...]:
        return torch.randn(5, 8), (torch.rand(5, 5) > 0.5).float()

    def forward(self, x: Tensor, a: Tensor) -> Tensor:
        return a @ self.fc(x)


class OneSampleOnly(Coupled):
    def inputs(self) -> tuple[Any, ...]:
        return (torch.randn(1, 8),)

    def forward(self, x: Tensor) -> Tensor:
        return self.leave(self.enter(x))


class ABatchSizeThatIsFixed(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        return self.leave(self.enter(x).view(4, 8))


class IgnoresItsInput(Coupled):
    verdict = VACUOUS

    def forward(self, x: Tensor) -> Tensor:
        return self.leave.bias.expand(len(x), 4)


class AsManySamplesAsClasses(Coupled):
    def forward(self, x: Tensor) -> Tensor:
        return self.leave(self.enter(x)).softmax(-1)


class FoldedLogits(Sequences):
    def forward(self, x: Tensor) -> Tensor:
        return self.leave(self.enter(x)).flatten(0, 1)


class OutputsAlongTheSecondAxis(Sequences):
    def forward(self, x: Tensor) -> Tensor:
        return self.leave(self.enter(x)).transpose(0, 1)


class ListOfImages(Images):
    def inputs(self) -> tuple[Any, ...]:
        return ([torch.randn(3, 8, 8) for _ in range(4)],)

    def forward(self, images: list[Tensor]) -> list[dict[str, Tensor]]:
        return [{"scores": self.leave(self.enter(image[None]).mean((2, 3)))[0]} for image in images]


class Experts(Coupled):
    """Each expert takes the samples that want it: their number decides on the order of sums, on nothing else."""

    width = 8

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 2)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        weight, chosen = self.gate(x).softmax(-1).max(-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            (rows,) = torch.where(chosen == number)
            out[rows] = weight[rows, None] * expert(x[rows])
        return self.leave(out)


class TokensAndMask(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 8)

    def inputs(self) -> tuple[Any, ...]:
        return torch.randint(0, 50, (3, 6)), torch.ones(3, 6, dtype=torch.int64)

    def forward(self, ids: Tensor, attention_mask: Tensor) -> Tensor:
        weight = attention_mask[..., None].float()
        return (self.embed(ids) * weight).sum(1) / weight.sum(1)


class CroppedToTheLongest(TokensAndMask):
    def forward(self, ids: Tensor, attention_mask: Tensor) -> Tensor:
        longest = int(attention_mask.sum(1).max())
        weight = attention_mask[:, :longest, None].float()
        return (self.embed(ids[:, :longest]) * weight).sum(1) / weight.sum(1)


class AsLongAsTheLongest(Sequences):
    """Unpacked to the longest sequence of the batch: the others get zeros behind their end."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(self.width, self.width, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        lengths = (x[..., 0] > 0).sum(1).clamp(min=1)
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True)[0]


class TakenOutOfTheirOrderAndPutBack(Sequences):
    def forward(self, x: Tensor) -> Tensor:
        order = x[:, 0, 0].argsort()
        x = self.enter(x[order])
        return self.leave(x[order.argsort()])


class ExpertsThatGatherAndScatter(Coupled):
    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(self.width, self.width) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        weight, choice = self.enter(x)[:, :3].softmax(-1).topk(2, -1)
        chosen = choice.flatten()
        order = chosen.argsort()
        parts = x.repeat_interleave(2, 0)[order].split(chosen.bincount(minlength=3).tolist())
        done = torch.cat([expert(part) for expert, part in zip(self.experts, parts, strict=True)])
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order))
        return (done[place].view(len(x), 2, -1) * weight[..., None]).sum(1)


class NeighboursChooseTheOrderOfASum(Coupled):
    """Kernels that deal rows out to experts do this, with equal shapes: nothing but the rounding differs."""

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        first, second, third = x[:, :2], x[:, 2:4] * 100, x[:, 4:6]
        return torch.where(x.mean() > 0, (first + second) + third, first + (second + third))


class GeneratesUntilAllAreDone(Coupled):
    """What was done earlier is filled up with zeros."""

    def inputs(self) -> tuple[Any, ...]:
        return (torch.randint(1, 50, (3, 6)),)

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(64, self.width)
        self.head = nn.Linear(self.width, 64)

    def forward(self, ids: Tensor) -> Tensor:
        done = torch.zeros(len(ids), dtype=torch.bool)
        for _ in range(8):
            token = self.head(self.embed(ids).mean(1)).argmax(-1).masked_fill(done, 0)
            ids = torch.cat([ids, token[:, None]], 1)
            done = done | (token % 4 == 0)
            if bool(done.all()):
                break
        return ids


@dataclass
class Answer:
    scores: Tensor
    label: str = "x"


class DataclassOutputs(Coupled):
    def forward(self, x: Tensor) -> Answer:
        return Answer(self.leave(self.enter(x)))


class PairwiseWithinASample(Sequences):
    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        return torch.cdist(x, x)


class CausalOverPositions(Sequences):
    def forward(self, x: Tensor) -> Tensor:
        return self.leave(self.enter(x).cumsum(1))


class OneAnswerForAll(Coupled):
    verdict = VACUOUS

    def forward(self, x: Tensor) -> Tensor:
        return self.leave(self.enter(x)).mean()


class NodesOfAFixedGraph(Coupled):
    """Takes five rows and no other number: what joins them is a matrix of the model's own."""

    verdict = VACUOUS

    def __init__(self) -> None:
        super().__init__()
        places = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 0]])
        self.register_buffer("neighbourhood", torch.sparse_coo_tensor(places, torch.ones(6), (5, 5)).coalesce())

    def inputs(self) -> tuple[Any, ...]:
        return (torch.randn(5, 8),)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.sparse.mm(self.neighbourhood, self.enter(x)).relu()
        return torch.sparse.mm(self.neighbourhood, self.leave(x))


class NodesOfFixedEdges(Coupled):
    verdict = VACUOUS

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("edges", torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]]))
        self.register_buffer("degree", torch.tensor([1.0, 1.0, 2.0, 1.0, 1.0]))

    def inputs(self) -> tuple[Any, ...]:
        return (torch.randn(5, 8),)

    def forward(self, x: Tensor) -> Tensor:
        sources, targets = self.edges
        x = self.enter(x)
        return self.leave(x.index_add(0, targets, x[sources]) / self.degree[:, None])


class TokensOfOneSequence(Coupled):
    """A mixer without a batch axis: a layer with as many weights as there are rows."""

    verdict = VACUOUS

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Linear(6, 6)

    def inputs(self) -> tuple[Any, ...]:
        return (torch.randn(6, 8),)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.tokens(self.enter(x).t()).t()
        return self.leave(x)


class LeavesOneByOneOnceSure(Coupled):
    """Each sample leaves when it is sure itself: shapes depend on the others, answers do not."""

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        answer = torch.zeros(len(x), 4)
        waiting = torch.ones(len(x), dtype=torch.bool)
        for step in range(3):
            found = self.leave(x).softmax(-1)
            sure = waiting & ((found.amax(-1) > 0.3 + 0.02 * step) | (step == 2))
            answer = torch.where(sure[:, None], found, answer)
            waiting = waiting & ~sure
            x = self.enter(x).relu()
        return answer


class AddsTheBatchAxisItself(Coupled):
    """Takes one sequence: its rows are steps in time."""

    verdict = VACUOUS

    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(8, 4, batch_first=True, bidirectional=True)

    def inputs(self) -> tuple[Any, ...]:
        return (torch.randn(5, 8),)

    def forward(self, x: Tensor) -> Tensor:
        found, _ = self.rnn(x.contiguous().unsqueeze(0))
        return self.leave(found.squeeze(0))


class DrawsAsOftenAsThereAreNegatives(Coupled):
    """How many numbers the samples before it use decides what a sample draws; no operation brings two together."""

    verdict = VACUOUS
    draws = True

    def forward(self, x: Tensor) -> Tensor:
        return self.leave(F.rrelu(self.enter(x), training=True))
