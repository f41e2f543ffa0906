"""Which axis of the inputs and outputs counts the samples, and batches that differ in all samples but one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from modellint.runtime.capture.operands import storage
from modellint.runtime.capture.subject import Subject
from modellint.runtime.probes.tree import leaves, rebuilt

_SEED = 20260102
_SCALES = {"wide": 8.0, "far": 100.0}
_MASK_WORDS = ("mask", "valid", "is_pad", "padding")
_GRAPH_WORDS = ("edge", "adj", "graph")


class NoBatch(Exception):
    """The inputs have no axis of samples that could be found; the message is one line."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The inputs of a subject, seen as `size` samples along `axis` of the tensors named in `paths`.

    `held` are (args, kwargs); lists with an entry for each sample are held stacked, at the paths in `stacked`.
    """

    held: Any
    paths: frozenset[str]
    size: int
    axis: int = 0
    stacked: frozenset[str] = frozenset()

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments of the call."""
        return tuple(self._dealt()[0])

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments of the call."""
        return dict(self._dealt()[1])

    def _dealt(self) -> Any:
        if not self.stacked:
            return self.held
        return rebuilt(self.held, lambda path, tensor: list(tensor.unbind(0)) if path in self.stacked else tensor)

    def resized(self, size: int) -> Batch:
        """Return a batch of `size` samples: the first of these, or these again with other values."""
        generator = torch.Generator().manual_seed(_SEED)

        def change(path: str, tensor: torch.Tensor) -> torch.Tensor:
            if size <= self.size:
                return tensor.narrow(self.axis, 0, size).contiguous()
            repeats = [1] * tensor.dim()
            repeats[self.axis] = -(-size // self.size)
            longer = tensor.repeat(repeats).narrow(self.axis, 0, size).contiguous()
            for index in range(self.size, size):
                _fill(longer.select(self.axis, index), path, tensor, "near", generator)
            return longer

        return self._with(change, size)

    def only(self, index: int) -> Batch:
        """Return the batch of one sample."""
        return self._with(lambda _, tensor: tensor.narrow(self.axis, index, 1).contiguous(), 1)

    def turned(self) -> Batch:
        """Return this batch in reverse order."""
        return self._with(lambda _, tensor: tensor.flip(self.axis), self.size)

    def others_changed(self, keep: Sequence[int], style: str, seed: int = _SEED) -> Batch:
        """Return this batch with all samples but those in `keep` replaced.

        `style`: `near` keeps each tensor's range, `wide` goes 8 times beyond it, `far` 100 times (whole numbers: the
        largest one), `still` is constant (whole numbers: the smallest one),
        `copy` repeats the first sample of `keep`. With the last sample kept, signs are opposite to those with the first
        kept: what a sum of the others decides is then decided both ways.
        """
        generator = torch.Generator().manual_seed(seed + sum(style.encode()))
        flipped = self.size - 1 in keep

        def change(path: str, tensor: torch.Tensor) -> torch.Tensor:
            tensor = tensor.clone()
            before = tensor.clone()
            for index in range(self.size):
                sample = tensor.select(self.axis, index)
                if index in keep:
                    continue
                if style == "copy":
                    sample.copy_(before.select(self.axis, keep[0]))
                else:
                    _fill(sample, path, before, style, generator, flipped=flipped)
            return tensor

        return self._with(change, self.size)

    def _with(self, change: Callable[[str, torch.Tensor], torch.Tensor], size: int) -> Batch:
        held = rebuilt(self.held, lambda path, tensor: change(path, tensor) if path in self.paths else tensor)
        return replace(self, held=held, size=size)

    def along(self, axis: int) -> Batch | None:
        """Return the same inputs with their samples along another axis, where all have one of the same size."""
        if self.stacked:
            return None
        found = dict(leaves(self.held))
        tensors = [found[path] for path in self.paths]
        sizes = {tensor.shape[axis] if tensor.dim() > axis else None for tensor in tensors}
        if len(sizes) != 1 or None in sizes or min(tensor.dim() for tensor in tensors) <= axis:
            return None
        return replace(self, size=int(sizes.pop() or 0), axis=axis)


def find_batch(subject: Subject) -> Batch:
    """Return the inputs as samples along the axis on which they agree. Raises `NoBatch`."""
    inputs = (subject.args, subject.kwargs)
    if (lists := _lists(inputs)) is not None:
        return lists
    tensors = [(path, leaf) for path, leaf in leaves(inputs) if isinstance(leaf, torch.Tensor) and leaf.dim()]
    if not tensors:
        raise NoBatch("no input is a tensor, so there are no samples to tell apart")
    if len(tensors) > 1 and (named := next((p for p, t in tensors if _is_graph(p, t, tensors)), None)):
        raise NoBatch(f"{named} joins the rows of the other inputs (a graph): they are no samples of a batch")
    sizes = [int(tensor.shape[0]) for _, tensor in tensors]
    wide = [tensor for _, tensor in tensors if tensor.dim() > 1]
    second = {int(tensor.shape[1]) for tensor in wide}
    if len(wide) > 1 and len({int(t.shape[0]) for t in wide}) > 1 and len(second) == 1 and second != {1}:
        return Batch(inputs, frozenset(p for p, t in tensors if t.dim() > 1), second.pop(), 1)
    size = int(wide[0].shape[0]) if wide else sizes[0]
    if size == 1 and any(other != 1 for other in sizes):
        size = next((s for s in sizes if s != 1), 1) if not wide else 1
    if size == 0:
        raise NoBatch("the batch is empty")
    paths = frozenset(path for path, tensor in tensors if int(tensor.shape[0]) == size)
    return Batch(inputs, paths, size)


def _lists(inputs: Any) -> Batch | None:
    """Return the batch where the first argument is a list of images of one shape, one for each sample."""
    args, kwargs = inputs
    places = [
        *((f"0.{number}", value) for number, value in enumerate(args)),
        *((f"1.{k}", v) for k, v in kwargs.items()),
    ]
    path, value = places[0] if places else ("", None)
    if not isinstance(value, list) or len(value) < 1 or not all(isinstance(item, torch.Tensor) for item in value):
        return None
    if len({tuple(item.shape) for item in value}) != 1 or not 1 <= value[0].dim() <= 3:
        return None
    stack = torch.stack(value)
    held = (
        tuple(stack if item is value else item for item in args),
        {k: stack if v is value else v for k, v in kwargs.items()},
    )
    return Batch(held, frozenset({path}), len(value), 0, frozenset({path}))


def _is_graph(path: str, tensor: torch.Tensor, tensors: Sequence[tuple[str, torch.Tensor]]) -> bool:
    """Tell whether a tensor says which rows of the others belong together."""
    others = [other for name, other in tensors if name != path]
    if any(word in path.lower() for word in _GRAPH_WORDS) and "adjust" not in path.lower():
        return True
    rows = {int(other.shape[0]) for other in others}
    whole = not tensor.is_floating_point() and not tensor.is_complex()
    if whole and tensor.dim() == 2 and tensor.shape[0] == 2 and tensor.dtype is not torch.bool and rows - {2}:
        return bool(tensor.numel()) and int(tensor.min()) >= 0 and int(tensor.max()) < max(rows)
    square = tensor.dim() == 2 and tensor.shape[0] == tensor.shape[1] and int(tensor.shape[0]) in rows
    if square and path != tensors[0][0]:
        values = set(tensor.detach().flatten().tolist()) if tensor.numel() <= 1 << 16 else {0.5}
        return tensor.dtype is torch.bool or values <= {0, 1, float("-inf")}
    return False


def _fill(
    sample: torch.Tensor,
    path: str,
    tensor: torch.Tensor,
    style: str,
    generator: torch.Generator,
    *,
    flipped: bool = False,
) -> None:
    """Overwrite one sample, which is a view, by other values of the kind that `tensor` holds."""
    shape, kind = sample.shape, sample.dtype
    if kind is torch.bool or is_mask(path, tensor):
        if style == "near" and shape and shape[-1] > 1:
            kept = torch.ones(shape, dtype=kind, device=sample.device)
            kept[..., shape[-1] // 2 :] = 0
            sample.copy_(sample * kept if kind is not torch.bool else sample & kept)
        return
    if kind.is_floating_point or kind.is_complex:
        values = tensor.detach()
        finite = values[torch.isfinite(values)]
        spread = float(finite.double().abs().square().mean().sqrt()) if finite.numel() else 1.0
        spread = spread or 1.0
        if style == "still":
            sample.zero_()
            return
        base = torch.complex64 if kind.is_complex else torch.float32
        noise = torch.randn(shape, generator=generator, dtype=base)
        unit = bool(finite.numel()) and not kind.is_complex and float(finite.min()) >= 0
        noise = noise.abs() if unit else noise
        scale = _SCALES.get(style, 1.0)
        if flipped:
            scale = 1 / scale if unit else -scale
        sample.copy_((noise * spread * scale).to(kind))
        return
    low, high = int(tensor.min()), int(tensor.max())
    if style in ("still", "far"):
        sample.fill_(low if style == "still" else high)
    elif high > low:
        drawn = torch.randint(low, high + 1, shape, generator=generator)
        sample.copy_((low + high - drawn if flipped else drawn).to(kind))


def is_mask(path: str, tensor: torch.Tensor) -> bool:
    """Tell whether an input says which positions count."""
    if tensor.is_complex() or tensor.dim() < 2:
        return False
    named = any(word in path.lower() for word in _MASK_WORDS)
    if tensor.dtype is torch.bool:
        return True
    return named and bool(((tensor == 0) | (tensor == 1)).all())


def takes_sequence_first(model: nn.Module) -> bool:
    """Tell whether some layer of torch in the model wants its samples along the second axis."""
    kinds = (nn.RNNBase, nn.MultiheadAttention, nn.Transformer)
    return any(isinstance(module, kinds) and not module.batch_first for module in model.modules())


def one_sample(bench: Any, batch: Batch) -> str:
    """Return why the rows of the inputs are no samples, where the model shows it; otherwise nothing. Two forwards.

    Either a layer that takes sequences with and without a batch is called on one without, or the first thing that is
    done to the inputs is to give them a leading axis of one.
    """
    if _without_batch(bench, batch):
        return "a layer was called on one sequence without a batch (two axes)"
    if _is_given_a_leading_axis(bench, batch):
        return "the model gives its input a leading axis of one: what it is given is one sample"
    return ""


_RESHAPING = {
    *("alias", "clone", "contiguous", "detach", "expand", "permute", "reshape", "t", "to", "_to_copy", "transpose"),
    *("unsqueeze", "view", "_unsafe_view", "lift_fresh"),
}
"""Operations after which the values are still the input's."""


def _is_given_a_leading_axis(bench: Any, batch: Batch) -> bool:
    if batch.stacked or batch.axis:
        return False
    held = rebuilt((batch.args, batch.kwargs), lambda _, tensor: tensor.clone())
    inputs = {storage(tensor): tensor.dim() for path, tensor in leaves(held) if path in batch.paths}
    tape = bench.tape()
    bench.run(*held, tape=tape, as_they_are=True)
    waiting: dict[int, int] = {}
    """The operations that only reshape an input and have not given it such an axis yet: how many axes it had."""
    met = False
    for index, entry in enumerate(tape.entries):
        known = [waiting[parent] for parent in entry.parents if parent in waiting]
        known += [inputs[place] for place in entry.reads if place in inputs]
        if not known:
            continue
        value = entry.values[0] if entry.values else None
        if entry.name.split(".")[1] not in _RESHAPING or value is None:
            return False
        if value.dim() == known[0] + 1 and value.shape[0] == 1:
            met = True
        else:
            waiting[index] = known[0]
    return met


def _without_batch(bench: Any, batch: Batch) -> bool:
    ranks: list[int] = []

    def note(module: nn.Module, args: Any, kwargs: Any) -> None:
        first = next((item for item in (*args, *kwargs.values()) if isinstance(item, torch.Tensor)), None)
        ranks.append(first.dim() if first is not None else 0)

    kinds = (nn.RNNBase, nn.MultiheadAttention, nn.Transformer, nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
    handles = [
        module.register_forward_pre_hook(note, with_kwargs=True)
        for module in bench.model.modules()
        if isinstance(module, kinds)
    ]
    if not handles:
        return False
    try:
        bench.run(batch.args, batch.kwargs)
    finally:
        for handle in handles:
            handle.remove()
    return 2 in ranks
