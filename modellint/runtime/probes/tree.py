"""Nested inputs and outputs: their leaves by path, and copies with some tensors replaced."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

_DEPTH = 8
Change = Callable[[str, torch.Tensor], Any]


def leaves(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield (path, leaf) for the tensors, numbers and strings in nested containers, dataclasses and objects."""
    if isinstance(value, (torch.Tensor, str, bytes, int, float, complex)) or value is None or depth > _DEPTH:
        yield path, value
        return
    for key, item in parts(value):
        yield from leaves(item, f"{path}.{key}" if path else str(key), depth + 1)


def parts(value: Any) -> list[tuple[Any, Any]]:
    """Return (key, item) for what a container, a dataclass or an object holds."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, (list, tuple)):
        names = getattr(value, "_fields", None) or range(len(value))
        return list(zip(names, value, strict=False))
    if isinstance(value, (set, frozenset)):
        return list(enumerate(sorted(value, key=repr)))
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return list(enumerate([torch.as_tensor(value)])) if value.dtype.kind in "biufc" else []
    if isinstance(getattr(value, "__dict__", None), dict) and not isinstance(value, (type, torch.nn.Module)):
        return [(key, item) for key, item in vars(value).items() if not callable(item)]
    slots = getattr(type(value), "__dataclass_fields__", None)
    return [(name, getattr(value, name, None)) for name in slots] if slots else []


def rebuilt(value: Any, change: Change, path: str = "", depth: int = 0) -> Any:
    """Return a copy of `value` in which every tensor is what `change(path, tensor)` returns."""
    if isinstance(value, torch.Tensor):
        return change(path, value)
    if isinstance(value, (str, bytes, int, float, complex)) or value is None or depth > _DEPTH:
        return value

    def inner(key: Any, item: Any) -> Any:
        return rebuilt(item, change, f"{path}.{key}" if path else str(key), depth + 1)

    if isinstance(value, list):
        return [inner(key, item) for key, item in enumerate(value)]
    if isinstance(value, tuple):
        items = [inner(key, item) for key, item in parts(value)]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if type(value) is dict:
        return {key: inner(key, item) for key, item in value.items()}
    if isinstance(value, (set, frozenset, type, torch.nn.Module)) or type(value).__module__ == "numpy":
        return value
    named = parts(value)
    if not any(isinstance(item, torch.Tensor) or _has_parts(item) for _, item in named):
        return value
    twin = copy.copy(value)
    if isinstance(getattr(twin, "data", None), dict) and isinstance(value, Mapping):
        twin.data = dict(twin.data)  # a UserDict shares its data with its copy
    for key, item in named:
        new = inner(key, item)
        if isinstance(twin, Mapping):
            twin[key] = new  # type: ignore[index]
        else:
            object.__setattr__(twin, key, new)
    return twin


def _has_parts(value: Any) -> bool:
    if isinstance(value, (str, bytes, int, float, complex)) or value is None:
        return False
    return bool(parts(value))


def copied(value: Any) -> Any:
    """Return the outputs of a forward as values of their own: nothing that runs later changes them."""
    return rebuilt(value, lambda _, tensor: tensor.detach().clone())
