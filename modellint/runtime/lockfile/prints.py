"""Fingerprints: of one tensor, of one output, of a whole model. Plain data that crosses processes as JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class TensorPrint:
    """What is kept of one tensor.

    `hash` is the first half of the SHA-256 of its bytes in row-major order. `norm` is the root of the summed squares,
    `sketch` holds sums under eight fixed patterns of signs (base64 of float64): the differences between two sketches
    tell how far two tensors are apart. Both are None where a value is not finite.
    """

    dtype: str
    shape: tuple[int, ...]
    hash: str
    norm: float | None = None
    sketch: str | None = None


@dataclass(frozen=True, slots=True)
class OutputPrint:
    """What is kept of one output tensor: as for any tensor, and some of its values.

    `scale` is the largest absolute value, `tolerance` the share of it that another machine may differ by (0: equal),
    `sample` up to 256 values at even distances (base64 of float64).
    """

    tensor: TensorPrint
    scale: float | None
    tolerance: float
    sample: str


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What is kept of one model, or of one file of weights.

    `kind` is model, tensors, exported, scripted or onnx. `environment` names the versions and the device.
    `architecture` hashes modules, their settings and the configuration, `graph` the operations of one forward.
    `input_hash` hashes the input that `outputs` belong to. `random` names the tensors in which two builds differ.
    """

    kind: str
    environment: Mapping[str, str]
    tensors: Mapping[str, TensorPrint]
    mode: str | None = None
    architecture: str | None = None
    graph: str | None = None
    input_hash: str | None = None
    outputs: Mapping[str, OutputPrint] = field(default_factory=dict)
    random: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    home: Mapping[str, Any] | None = None

    @property
    def weights(self) -> str:
        """Return the hash over all tensors: names, types, shapes and bits."""
        return whole((name, *_identity(tensor)) for name, tensor in sorted(self.tensors.items()))

    def to_json(self) -> dict[str, Any]:
        """Return what crosses from the worker."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Fingerprint:
        """Undo `to_json`."""
        return cls(
            **{
                **data,
                "tensors": {name: tensor_print(entry) for name, entry in data["tensors"].items()},
                "outputs": {
                    name: OutputPrint(**{**entry, "tensor": tensor_print(entry["tensor"])})
                    for name, entry in data.get("outputs", {}).items()
                },
                "random": tuple(data.get("random", ())),
                "notes": tuple(data.get("notes", ())),
            }
        )


def tensor_print(entry: Mapping[str, Any]) -> TensorPrint:
    """Return the fingerprint that a mapping describes."""
    return TensorPrint(**{**entry, "shape": tuple(entry["shape"])})


def _identity(tensor: TensorPrint) -> tuple[Any, ...]:
    return tensor.dtype, list(tensor.shape), tensor.hash


def whole(parts: Iterable[Any]) -> str:
    """Return the SHA-256 of some plain data."""
    return hashlib.sha256(json.dumps(list(parts), sort_keys=True, default=str).encode()).hexdigest()
