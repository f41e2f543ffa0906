"""Cut the outputs of a forward into samples: which axis or list counts them, and what belongs to one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from modellint.runtime.probes.tree import parts


@dataclass(frozen=True, slots=True)
class Axis:
    """How a tensor holds its samples: `axis` counts them in blocks of `block` rows; `pairwise`: two axes do.

    `strided`: sample i has the rows i, i + size, ...; otherwise it has `block` rows in sequence.
    """

    axis: int
    block: int = 1
    second: int | None = None
    strided: bool = False


LIST = Axis(-1)
"""A list with one entry for each sample."""

Plan = Mapping[str, Axis]


def plan(first: Any, second: Any, sizes: tuple[int, int], path: str = "") -> dict[str, Axis]:
    """Return, by path, what grows with the batch in the outputs of two runs whose batches have `sizes` samples."""
    found: dict[str, Axis] = {}
    if isinstance(first, torch.Tensor):
        if isinstance(second, torch.Tensor) and first.dim() == second.dim():
            found |= _tensor(first, second, sizes, path)
        return found
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)) and not hasattr(first, "_fields"):
        if (len(first), len(second)) == sizes:
            return {path: LIST}
        if len(first) != len(second):
            return {}
    if first is None or isinstance(first, (str, bytes, int, float, complex)):
        return {}
    others = {str(key): item for key, item in parts(second)}
    for key, item in parts(first):
        if str(key) in others:
            found |= plan(item, others[str(key)], sizes, f"{path}.{key}" if path else str(key))
    return found


def _tensor(first: torch.Tensor, second: torch.Tensor, sizes: tuple[int, int], path: str) -> dict[str, Axis]:
    grown = [
        axis
        for axis in range(first.dim())
        if first.shape[axis] != second.shape[axis]
        and first.shape[axis] % sizes[0] == 0
        and first.shape[axis] // sizes[0] * sizes[1] == second.shape[axis]
    ]
    if not grown:
        return {}
    return {path: Axis(grown[0], first.shape[grown[0]] // sizes[0], grown[1] if len(grown) > 1 else None)}


def fixed_plan(outputs: Any, size: int, path: str = "") -> dict[str, Axis]:
    """Return a plan where the batch cannot be resized: the leading axis, where it has as many entries as the batch."""
    if isinstance(outputs, torch.Tensor):
        if not outputs.dim() or outputs.shape[0] != size:
            return {}
        pair = outputs.dim() > 1 and outputs.shape[1] == size
        return {path: Axis(0, 1, 1 if pair else None)}
    if isinstance(outputs, (list, tuple)) and len(outputs) == size and not hasattr(outputs, "_fields"):
        if not all(isinstance(item, torch.Tensor) and item.dim() and item.shape[0] == size for item in outputs):
            return {path: LIST}
    if outputs is None or isinstance(outputs, (str, bytes, int, float, complex)):
        return {}
    found: dict[str, Axis] = {}
    for key, item in parts(outputs):
        found |= fixed_plan(item, size, f"{path}.{key}" if path else str(key))
    return found


def cut(outputs: Any, plan: Plan, index: int, size: int) -> dict[str, Any]:
    """Return, by path, what belongs to sample `index` of a run with `size` samples; what is shared is left out."""
    return dict(_cut(outputs, plan, index, size, ""))


def _cut(value: Any, plan: Plan, index: int, size: int, path: str) -> list[tuple[str, Any]]:
    axis = plan.get(path)
    if axis is not None and axis is not LIST and isinstance(value, torch.Tensor):
        return [(path, own(value, axis, index, size))]
    if axis is LIST and isinstance(value, (list, tuple)):
        return [(path, value[index] if index < len(value) else None)]
    if value is None or isinstance(value, (torch.Tensor, str, bytes, int, float, complex)):
        return []
    found = []
    for key, item in parts(value):
        found += _cut(item, plan, index, size, f"{path}.{key}" if path else str(key))
    return found


def own(tensor: torch.Tensor, axis: Axis, index: int, size: int) -> torch.Tensor:
    """Return the part of a tensor that belongs to sample `index`."""
    where = list(range(axis.axis, axis.axis + 1)) + ([axis.second] if axis.second is not None else [])
    for number in where:
        rows = tensor.shape[number] // size
        part = slice(index, None, size) if axis.strided else slice(index * rows, (index + 1) * rows)
        tensor = tensor[(slice(None),) * number + (part,)]
    return tensor
