"""What is read off the operands of a recorded operation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from modellint.runtime.capture import adapter


def storage(tensor: torch.Tensor) -> int:
    """Return an identity shared by all views of one storage; 0 where a tensor has none."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError, ValueError):
        return 0


def shallow(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors in nested lists and tuples."""
    if isinstance(value, (list, tuple)):
        for item in value:
            if isinstance(item, torch.Tensor):
                yield item
            elif isinstance(item, (list, tuple)):
                yield from shallow(item)


def shape(tensor: torch.Tensor | None) -> tuple[int, ...]:
    """Return the elements per axis."""
    return tuple(int(size) for size in tensor.shape) if tensor is not None else ()


def generator_state(args: Any, kwargs: Mapping[str, Any]) -> int:
    """Return a fingerprint of the state from which a draw starts."""
    generator = next((value for value in (*args, *kwargs.values()) if isinstance(value, torch.Generator)), None)
    generator = generator or torch.default_generator
    with adapter.unobserved():
        return hash(generator.get_state().numpy().tobytes())
