"""How far two tensors are apart, told from what a lockfile keeps of them."""

from __future__ import annotations

import base64
import math
import struct
from dataclasses import dataclass

from modellint.runtime.lockfile.prints import OutputPrint, TensorPrint

_ROUNDING = 1e-12
"""Share of the norm that the order of additions may change in a sketch (float64, up to billions of values)."""


@dataclass(frozen=True, slots=True)
class Distance:
    """An estimate of the root of the summed squared differences, and what it says of the largest difference.

    With eight patterns of signs the estimate is right within a factor of two, and exact where one value changed.
    """

    total: float
    elements: int
    single: bool = False
    """Every pattern tells the same size, as it is where one value changed (two values: one time in 128)."""

    @property
    def words(self) -> str:
        """Say it on one line."""
        if math.isnan(self.total):
            return "by how much is not known: not all values are finite"
        if not self.total:
            return "by less than the stored summary can tell"
        if self.single:
            return f"by about {self.total:.2g}" + (", most likely in one value" if self.elements > 1 else "")
        low = self.total / math.sqrt(self.elements)
        between = f"so max|d| lies between {low:.2g} and {self.total:.2g}"
        return f"by about {self.total:.2g} in all (root of summed squares, {between})"


def unpacked(text: str) -> tuple[float, ...]:
    """Return the numbers in a sketch or a sample. Raises ValueError."""
    data = base64.b64decode(text, validate=True)
    if len(data) % 8:
        raise ValueError("is no list of float64")
    return struct.unpack(f"<{len(data) // 8}d", data)


def packed(values: list[float]) -> str:
    """Undo `unpacked`."""
    return base64.b64encode(struct.pack(f"<{len(values)}d", *values)).decode()


def distance(first: TensorPrint, second: TensorPrint) -> Distance:
    """Estimate how far two tensors of one shape are apart."""
    elements = math.prod(first.shape)
    if first.sketch is None or second.sketch is None:
        return Distance(math.nan, elements)
    sizes = [abs(a - b) for a, b in zip(unpacked(first.sketch), unpacked(second.sketch), strict=True)]
    total = math.sqrt(sum(size * size for size in sizes) / max(len(sizes), 1))
    noise = _ROUNDING * max(first.norm or 0.0, second.norm or 0.0)
    if total <= noise:
        return Distance(0.0, elements)
    return Distance(total, elements, max(sizes) - min(sizes) <= max(noise, 1e-6 * total))


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether an output is the locked one: bit for bit, within its tolerance, or neither; `words` say how far it is."""

    exact: bool
    close: bool
    words: str = ""


def agreement(locked: OutputPrint, found: OutputPrint) -> Agreement:
    """Compare one output with the locked one."""
    if (locked.tensor.shape, locked.tensor.dtype) != (found.tensor.shape, found.tensor.dtype):
        was, now = (f"{t.dtype}{list(t.shape)}" for t in (locked.tensor, found.tensor))
        return Agreement(False, False, f"{was} has become {now}")
    if locked.tensor.hash == found.tensor.hash:
        return Agreement(True, True)
    if not locked.tolerance:
        return Agreement(False, False, "whole numbers differ")
    apart = distance(locked.tensor, found.tensor)
    if locked.scale is None or found.scale is None or math.isnan(apart.total):
        return Agreement(False, False, "values are not finite")
    pairs = zip(unpacked(locked.sample), unpacked(found.sample), strict=True)
    largest = max((abs(left - right) for left, right in pairs), default=0.0)
    mean = apart.total / math.sqrt(max(apart.elements, 1))
    limit = locked.tolerance * locked.scale
    words = f"max|d| {largest:.2g} among the stored values, {mean:.2g} on average, tolerance {limit:.2g}"
    return Agreement(False, largest <= limit and mean <= limit, words)
