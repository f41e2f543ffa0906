"""Fingerprints of tensors: their bits, and sums that tell later how far another tensor is from them."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import torch

from modellint.runtime.lockfile.distance import packed
from modellint.runtime.lockfile.prints import OutputPrint, TensorPrint

_PATTERNS = 8
_WIDTH = 256
_ROWS = 1 << 14
"""Rows of `_WIDTH` values that are turned into float64 at a time: 32 MiB."""
_SAMPLE = 256


def tensor_print(tensor: torch.Tensor) -> TensorPrint:
    """Return the fingerprint of a tensor of any layout. Raises `NotImplementedError` for one without data."""
    if tensor.is_meta:
        raise NotImplementedError("is on the meta device: it has no data to lock")
    dense = _dense(tensor.detach())
    norm, sketch = _summary(dense)
    return TensorPrint(
        str(tensor.dtype).removeprefix("torch."), tuple(int(size) for size in tensor.shape), _hash(dense), norm, sketch
    )


def output_print(tensor: torch.Tensor, tolerance: float) -> OutputPrint:
    """Return the fingerprint of an output, whose values may differ by `tolerance` of the largest one elsewhere."""
    values = _numbers(_dense(tensor.detach()))
    count = values.numel()
    places = torch.arange(min(count, _SAMPLE), dtype=torch.int64) * max(count, 1) // max(min(count, _SAMPLE), 1)
    scale = float(values.abs().max()) if count else 0.0
    sample = [float(value) for value in values[places].to(torch.float64)]
    return OutputPrint(tensor_print(tensor), scale if _finite(scale) else None, tolerance, packed(sample))


def flattened(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield (dotted path, tensor) for the tensors in nested dicts, lists and objects of a state or a checkpoint."""
    if isinstance(value, torch.Tensor):
        yield path, value
        return
    parts: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    elif type(value).__name__ == "ScriptObject" and hasattr(value, "__getstate__"):
        parts = [("state", value.__getstate__())]  # packed weights of quantised layers
    if depth < 12:
        for key, item in parts:
            yield from flattened(item, f"{path}.{key}" if path else str(key), depth + 1)


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    """Return the same values on the CPU, in one piece."""
    if tensor.is_quantized:
        scales = tensor.q_per_channel_scales() if "channel" in str(tensor.qscheme()) else torch.tensor(tensor.q_scale())
        return torch.cat([tensor.int_repr().double().reshape(-1).cpu(), scales.double().reshape(-1).cpu()])
    if tensor.is_nested:
        return torch.cat([_dense(part).reshape(-1) for part in tensor.unbind()])
    if tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    return tensor.resolve_conj().resolve_neg().cpu().contiguous()


def _hash(dense: torch.Tensor) -> str:
    size = dense.numel() * dense.element_size()
    data = (ctypes.c_char * size).from_address(dense.data_ptr()) if size else b""
    return hashlib.sha256(data).hexdigest()[:32]


def bytes_hash(tensors: Iterable[torch.Tensor]) -> str:
    """Return the SHA-256 over several tensors."""
    total = hashlib.sha256()
    for tensor in tensors:
        total.update(f"{tensor.dtype}{list(tensor.shape)}{_hash(_dense(tensor))}".encode())
    return total.hexdigest()


def _numbers(dense: torch.Tensor) -> torch.Tensor:
    """Return the values in one row, as numbers that arithmetic is defined for."""
    if dense.is_complex():
        dense = torch.view_as_real(dense)
    return (dense if dense.dtype.itemsize > 1 or not dense.is_floating_point() else dense.float()).reshape(-1)


def _summary(dense: torch.Tensor) -> tuple[float | None, str | None]:
    """Return the norm and the sketch, or twice None where a value is not finite."""
    values = _numbers(dense)
    count = values.numel()
    rows = -(-count // _WIDTH)
    columns, signs = _column_signs(), _signs(b"rows", rows)
    total = torch.zeros(_PATTERNS, dtype=torch.float64)
    squares = 0.0
    for first in range(0, rows, _ROWS):
        block = values[first * _WIDTH : (first + _ROWS) * _WIDTH].to(torch.float64)
        squares += float(block.dot(block))
        height = -(-block.numel() // _WIDTH)
        block = torch.nn.functional.pad(block, (0, height * _WIDTH - block.numel())).view(height, _WIDTH)
        total += signs[first : first + height] @ (block @ columns)
    norm = squares**0.5
    return (float(f"{norm:.6g}"), packed(total.tolist())) if _finite(norm) else (None, None)


def _finite(value: float) -> bool:
    return value == value and abs(value) != float("inf")


@cache
def _column_signs() -> torch.Tensor:
    return _signs(b"columns", _WIDTH * _PATTERNS).view(_WIDTH, _PATTERNS)


def _signs(name: bytes, count: int) -> torch.Tensor:
    """Return a fixed row of +1 and -1: the bits of SHAKE-256, the same on every machine and for all time."""
    stream = bytearray(hashlib.shake_256(b"modellint " + name).digest(-(-count // 8) or 1))
    bits = (torch.frombuffer(stream, dtype=torch.uint8)[:, None] >> torch.arange(8, dtype=torch.uint8)) & 1
    return bits.reshape(-1)[:count].to(torch.float64) * 2 - 1
