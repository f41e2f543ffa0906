"""ML707: what stands under the mask, and how much of it there is, must not change the answer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from modellint.runtime.probes.batch import is_mask
from modellint.runtime.probes.bench import Bench, OutOfTime
from modellint.runtime.probes.compare import Difference, difference, tolerance_of
from modellint.runtime.probes.double import is_rounding
from modellint.runtime.probes.drift import Parting, failed, part
from modellint.runtime.probes.result import FAILED, PASSED, VACUOUS, ProbeResult
from modellint.runtime.probes.tape import Tape
from modellint.runtime.probes.tree import leaves, rebuilt

_SEED = 20260104
_READS_IDS = ("argmax", "argmin", "eq", "ne", "ge", "gt", "le", "lt", "index", "nonzero")
_CACHES = ("cache", "past", "mems")
_TARGETS = ("decoder", "tgt", "trg", "target")
"""Words in the names of what a decoder is given, which an encoder's mask says nothing about."""


@dataclass(frozen=True, slots=True)
class _Padded:
    """Inputs whose positions from `kept` on are padding: `masks` say so, `contents` hold what must not matter."""

    inputs: Any
    masks: frozenset[str]
    contents: frozenset[str]
    size: int
    length: int
    kept: int
    apart: frozenset[str]
    """Inputs of the same shape that the masks say nothing about: what a decoder is given, beside an encoder's mask."""
    marks: int
    """What a mask says at a position that counts: 1 as in transformers, 0 as in torch's key_padding_mask."""

    def marked(self) -> Any:
        """Return the inputs with the tail marked as padding."""

        def change(path: str, tensor: torch.Tensor) -> torch.Tensor:
            if path not in self.masks:
                return tensor
            tensor = torch.full_like(tensor, self.marks)
            tensor[:, self.kept :] = 1 - self.marks
            return tensor

        return rebuilt(self.inputs, change)

    def on_the_left(self) -> Any:
        """Return `neutral` with the padding moved to the front; positions that are given move along."""

        def change(path: str, tensor: torch.Tensor) -> torch.Tensor:
            alike = tensor.shape[:2] == (self.size, self.length) and path not in self.apart
            return tensor.roll(self.length - self.kept, 1) if alike else tensor

        return rebuilt(self.neutral(), change)

    def other_content(self) -> Any:
        """Return `marked` with other values under the mask."""
        generator = torch.Generator().manual_seed(_SEED)

        def change(path: str, tensor: torch.Tensor) -> torch.Tensor:
            if path not in self.contents:
                return tensor
            tensor = tensor.clone()
            tail = tensor[:, self.kept :]
            if tensor.is_floating_point():
                tail.copy_(torch.randn(tail.shape, generator=generator) * (float(tensor.std()) or 1.0) * 4)
            else:
                low, high = int(tensor.min()), int(tensor.max())
                drawn = torch.randint(low, high + 1, tail.shape, generator=generator).to(tensor.dtype)
                tail.copy_(torch.where(drawn == tail, low + high - tail, drawn))
            return tensor

        return rebuilt(self.marked(), change)

    def neutral(self) -> Any:
        """Return `marked` with each sequence's first value repeated under the mask: no end of a sequence is there."""

        def change(path: str, tensor: torch.Tensor) -> torch.Tensor:
            if path not in self.contents:
                return tensor
            tensor = tensor.clone()
            tensor[:, self.kept :] = tensor[:, :1].clone()
            return tensor

        return rebuilt(self.marked(), change)

    def cropped(self) -> Any:
        """Return the inputs without the padding."""
        together = self.masks | self.contents

        def change(path: str, tensor: torch.Tensor) -> torch.Tensor:
            return tensor[:, : self.kept].contiguous() if path in together else tensor

        return rebuilt(self.marked(), change)

    def counted(self, outputs: Any, start: int = 0, *, whole: bool = True) -> dict[str, Any]:
        """Return the outputs at the positions that count, which begin at `start`; without `whole`, no others."""

        def cut(tensor: torch.Tensor) -> torch.Tensor | None:
            for axis in range(min(2, tensor.dim())):
                if tensor.shape[axis] in (self.length, self.kept) and tensor.shape[axis] != self.size:
                    return tensor.narrow(axis, start, self.kept)
            return tensor if whole else None

        # Attention weights have the padding on axes of their own, and a cache holds what followed the last position.
        return {
            path: part
            for path, leaf in leaves(outputs)
            if isinstance(leaf, torch.Tensor)
            and self.length not in leaf.shape[2:]
            and not any(word in path.lower() for word in _CACHES)
            and (part := cut(leaf)) is not None
        }


def padding(bench: Bench) -> ProbeResult:
    """Run the probe."""
    inputs = (bench.subject.args, bench.subject.kwargs)
    found = _find(inputs, _labels(bench))
    if isinstance(found, str):
        return ProbeResult("padding", VACUOUS, found)
    results = []
    for marks in (1, 0):
        padded = _Padded(inputs, *found, marks)
        results.append(_content(bench, padded))
        if results[-1].verdict == PASSED:
            return _side(bench, padded, _length(bench, padded, results[-1]))
    # Neither way of reading the mask holds: the likelier one is told.
    names = " ".join(sorted(found[0])).lower()
    first = 1 if "padding" in names else 0
    return results[first] if results[first].verdict == FAILED else results[1 - first]


def _labels(bench: Bench) -> dict[str, str]:
    """Return the names that the call's positional arguments have, by path."""
    entry = bench.model.forward if bench.subject.entry is bench.model else bench.subject.entry
    try:
        names = list(inspect.signature(entry).parameters)
    except (TypeError, ValueError):
        return {}
    return {f"0.{number}": name for number, name in zip(range(len(bench.subject.args)), names, strict=False)}


def _find(
    inputs: Any, labels: Mapping[str, str]
) -> tuple[frozenset[str], frozenset[str], int, int, int, frozenset[str]] | str:
    def is_target(path: str) -> bool:
        return any(word in labels.get(path, path).lower() for word in _TARGETS)

    tensors = [(path, leaf) for path, leaf in leaves(inputs) if isinstance(leaf, torch.Tensor) and leaf.dim() > 1]
    masks = [
        (path, tensor) for path, tensor in tensors if tensor.dim() == 2 and is_mask(labels.get(path, path), tensor)
    ]
    if not masks:
        return "no input is a mask of positions"
    shape = tuple(masks[0][1].shape)
    same = frozenset(path for path, tensor in masks if tuple(tensor.shape) == shape)
    sides = {is_target(path) for path in same}
    alike = [(path, tensor) for path, tensor in tensors if path not in same and tuple(tensor.shape[:2]) == shape]
    apart = frozenset(path for path, _ in alike if is_target(path) not in sides)
    contents = frozenset(
        path for path, tensor in alike if path not in apart and tensor.dim() <= 3 and not _is_positions(path)
    )
    if not contents:
        return "no input has a value for each position of the mask"
    if shape[1] < 3:
        return "the sequence is too short to have padding"
    return same, contents, shape[0], shape[1], shape[1] - max(1, shape[1] // 3), apart


def _is_positions(path: str) -> bool:
    return any(word in path.lower() for word in ("position", "token_type", "labels"))


def _run(bench: Bench, inputs: Any, tape: Tape | None = None) -> Any:
    args, kwargs = inputs
    return bench.run(tuple(args), dict(kwargs), tape=tape)


def _content(bench: Bench, padded: _Padded) -> ProbeResult:
    first, second = padded.marked(), padded.other_content()
    outputs = _run(bench, first)
    found = difference(padded.counted(outputs), padded.counted(_run(bench, second)))
    whole = difference(outputs, _run(bench, padded.inputs))
    details = {
        "positions": padded.length,
        "of them padding": padded.length - padded.kept,
        "masks": sorted(padded.masks),
        "under the mask": sorted(padded.contents),
        "a position that counts": padded.marks,
    }
    if found.exact and whole.exact:
        return ProbeResult("padding", VACUOUS, "the mask changes nothing", details=details)
    return _judge(bench, padded, found, first, second, "other values under the mask", details)


def _length(bench: Bench, padded: _Padded, passed: ProbeResult) -> ProbeResult:
    """Compare padded sequences with the same sequences as long as they are."""
    first, second = padded.neutral(), padded.cropped()
    try:
        outputs = padded.counted(_run(bench, first)), padded.counted(_run(bench, second))
    except OutOfTime:
        raise
    except Exception:  # a fixed length: there is nothing to compare
        return passed
    if [path for path, _ in leaves(outputs[0])] != [path for path, _ in leaves(outputs[1])]:
        return passed
    found = difference(*outputs)
    if "shape" in found.what:
        return passed
    return _judge(bench, padded, found, first, second, "the length of the padding", dict(passed.details))


def _side(bench: Bench, padded: _Padded, result: ProbeResult) -> ProbeResult:
    """Add to what passed whether the padding may stand on the left as well.

    Where it may not, that is no leak: such a model counts its positions from the left, and wants to be told others.
    """
    if result.verdict != PASSED:
        return result
    pad = padded.length - padded.kept
    try:
        right, left = _run(bench, padded.neutral()), _run(bench, padded.on_the_left())
    except OutOfTime:
        raise
    except Exception:  # the model takes no padding there
        return result
    found = difference(padded.counted(right, whole=False), padded.counted(left, pad, whole=False))
    details = {**result.details, "padded on the left": found.relative}
    limit = result.tolerance or 0.0
    if found.relative <= limit or result.reason:
        return replace(result, details=details)
    why = "only where it stands on the right: on the left it moves the positions, and the answer is another one"
    return replace(result, reason=why, details=details)


def _judge(
    bench: Bench, padded: _Padded, found: Difference, first: Any, second: Any, cause: str, details: dict[str, Any]
) -> ProbeResult:
    limit = tolerance_of(_run(bench, first))
    result = ProbeResult("padding", PASSED, "", "", found.relative, limit.limit, limit.origin, details=details)
    if found.relative <= limit.limit:
        return result

    def anew(run: Callable[[Any, Any], Any]) -> Difference:
        return difference(padded.counted(run(*first)), padded.counted(run(*second)))

    # With equal shapes nothing is rounded in another way.
    same = tuple(t.shape for t in _tensors(first)) == tuple(t.shape for t in _tensors(second))
    if not same and is_rounding(bench, anew):
        return result
    parting = _part(bench, padded, first, second, limit.limit) if same else Parting()
    if parting.culprits and all(culprit.op.split(".")[1] in _READS_IDS for culprit in parting.culprits):
        return replace(result, reason="the ids themselves say where the sequence ends, which the padding must not")
    named = replace(found, what=f"{cause}: {found.what}")
    return failed("padding", named, limit, cause, parting, {**details, "output": found.where})


def _part(bench: Bench, padded: _Padded, first: Any, second: Any, limit: float) -> Parting:
    def fit(value: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor | None:
        return value if value.shape == tensor.shape else None

    def pair(reference: Tape, other: Callable[[], Tape]) -> bool:
        before = padded.counted(_run(bench, first, reference))
        return difference(before, padded.counted(_run(bench, second, other()))).relative > limit

    return part(bench, pair, limit, fit=fit, region=lambda tensor: _counting(tensor, padded))


def _counting(tensor: torch.Tensor, padded: _Padded) -> torch.Tensor:
    """Return the part of a value that belongs to the positions that count, where an axis of positions is in sight."""
    for axis in range(tensor.dim()):
        if tensor.shape[axis] == padded.size * padded.length:
            shape = (*tensor.shape[:axis], padded.size, padded.length, *tensor.shape[axis + 1 :])
            tensor = tensor.reshape(shape).narrow(axis + 1, 0, padded.kept)
        elif tensor.shape[axis] == padded.length:
            tensor = tensor.narrow(axis, 0, padded.kept)
    return tensor


def _tensors(inputs: Any) -> list[torch.Tensor]:
    return [leaf for _, leaf in leaves(inputs) if isinstance(leaf, torch.Tensor)]
