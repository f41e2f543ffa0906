"""How far two values are apart, and how far they may be."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from modellint.runtime.probes.tree import leaves

TOLERANCES: dict[torch.dtype, float] = {
    torch.float64: 1e-12,
    torch.float32: 1e-5,
    torch.float16: 1e-2,
    torch.bfloat16: 5e-2,
    torch.complex64: 1e-5,
    torch.complex128: 1e-12,
}
"""What max|difference| may be, as a share of max|reference|. Clean models stay ten times below (docs/probes.md)."""
_LOOSEST = 1e-5


@dataclass(frozen=True, slots=True)
class Tolerance:
    """A limit and where it comes from."""

    limit: float
    origin: str


def tolerance(values: Iterable[torch.Tensor], parameters: Iterable[torch.Tensor] = ()) -> Tolerance:
    """Return the limit for these outputs: that of the coarsest floating-point type that took part."""
    kinds = {t.dtype for t in (*values, *parameters) if t.dtype in TOLERANCES}
    if not kinds:
        return Tolerance(_LOOSEST, "whole numbers: equal")
    coarsest = max(kinds, key=lambda kind: TOLERANCES[kind])
    limit = TOLERANCES[coarsest]
    name = str(coarsest).removeprefix("torch.")
    return Tolerance(limit, f"{name}: {limit:g} of the largest value")


def tolerance_of(outputs: Any) -> Tolerance:
    """Return the limit for the tensors in these outputs."""
    return tolerance(leaf for _, leaf in leaves(outputs) if isinstance(leaf, torch.Tensor))


@dataclass(frozen=True, slots=True)
class Difference:
    """How two outputs differ: `relative` is max|difference| / max|reference|, infinite where they cannot be compared.

    `exact` says bit for bit the same; `where` is the path of the worst leaf, `what` a few words.
    """

    relative: float = 0.0
    exact: bool = True
    where: str = ""
    what: str = ""


def difference(reference: Any, other: Any) -> Difference:
    """Compare two outputs leaf by leaf."""
    first, second = list(leaves(reference)), list(leaves(other))
    if [path for path, _ in first] != [path for path, _ in second]:
        return Difference(math.inf, False, "", f"{len(first)} values against {len(second)}")
    worst = Difference()
    for (path, left), (_, right) in zip(first, second, strict=True):
        found = _leaf(left, right, path)
        if not found.exact and (worst.exact or found.relative > worst.relative):
            worst = found
    return worst


def _leaf(left: Any, right: Any, path: str) -> Difference:
    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
        return tensor_difference(left, right, path)
    if isinstance(left, float) and isinstance(right, float):
        if left == right or (math.isnan(left) and math.isnan(right)):
            return Difference()
        scale = abs(left) or 1.0
        return Difference(abs(left - right) / scale, False, path, f"{left:.6g} against {right:.6g}")
    if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor) or left != right:
        return Difference(math.inf, False, path, f"{str(left)[:60]} against {str(right)[:60]}")
    return Difference()


def tensor_difference(left: torch.Tensor, right: torch.Tensor, path: str = "") -> Difference:
    """Compare two tensors; NaN equals NaN."""
    if left.shape != right.shape:
        return Difference(math.inf, False, path, f"shape {list(left.shape)} against {list(right.shape)}")
    left, right = plain(left), plain(right)
    if left.dtype != right.dtype and not (left.is_floating_point() and right.is_floating_point()):
        return Difference(math.inf, False, path, f"{left.dtype} against {right.dtype}")
    if left.dtype == right.dtype and torch.equal(left, right):
        return Difference()
    if not (left.is_floating_point() or left.is_complex()):
        count = int((left != right).sum())
        return Difference(math.inf, False, path, f"{count} of {left.numel()} whole numbers differ")
    wide = torch.complex128 if left.is_complex() else torch.float64
    left, right = left.to(wide), right.to(wide)
    finite = torch.isfinite(left) & torch.isfinite(right)
    same = torch.where(finite, torch.zeros_like(finite), (left == right) | (torch.isnan(left) & torch.isnan(right)))
    if not bool((finite | same).all()):
        return Difference(math.inf, False, path, "a value is infinite or NaN in one of them only")
    if not bool(finite.any()):
        return Difference()
    gap = float((left - right)[finite].abs().max())
    if gap == 0.0:
        return Difference()
    # A reference of nothing but zeros has no scale of its own.
    scale = float(left[finite].abs().max()) or float(right[finite].abs().max())
    return Difference(gap / scale, False, path, f"up to {gap:.3g} at values up to {scale:.3g}")


def to_the_shorter(reference: Any, other: Any) -> tuple[Any, Any] | None:
    """Return both outputs with the tensors that differ in the length of one axis cut to the shorter one.

    None where no tensor does, and where shapes differ in another way: what is left over is then no padding.
    """
    first, second = list(leaves(reference)), list(leaves(other))
    if [path for path, _ in first] != [path for path, _ in second]:
        return None
    cut = False
    for place, ((path, left), (_, right)) in enumerate(zip(first, second, strict=True)):
        if not (isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor)) or left.shape == right.shape:
            continue
        axes = [
            axis for axis in range(left.dim()) if left.dim() != right.dim() or left.shape[axis] != right.shape[axis]
        ]
        if len(axes) != 1 or left.dim() != right.dim():
            return None
        length = min(left.shape[axes[0]], right.shape[axes[0]])
        first[place] = path, left.narrow(axes[0], 0, length)
        second[place] = path, right.narrow(axes[0], 0, length)
        cut = True
    return ([leaf for _, leaf in first], [leaf for _, leaf in second]) if cut else None


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """Return a dense, ordinary tensor of the same values on the CPU."""
    if tensor.is_sparse or tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    return tensor.detach().cpu().resolve_conj().resolve_neg()


def changed(reference: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return where two tensors of one shape differ, as a mask; NaN equals NaN."""
    mask = reference != other
    if reference.is_floating_point() or reference.is_complex():
        mask &= ~(torch.isnan(reference) & torch.isnan(other))
    return mask
