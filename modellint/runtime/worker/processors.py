"""Inputs that a transform or a tokenizer makes, where the user names one: an image or a text goes in."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from modellint.runtime.specs import TOKENIZER, InputSpec
from modellint.runtime.target import TargetError, parse_target
from modellint.runtime.worker.load import LoadProblem, lookup

_SEED = 20260101


class ProcessorProblem(Exception):
    """The transform or the tokenizer cannot be used; the message is one line."""


def processed(spec: InputSpec) -> Any:
    """Return what the processor of a spec makes of its source: a tensor with a batch axis, or tensors by name.

    Raises `ProcessorProblem`.
    """
    assert spec.processor is not None
    try:
        if spec.processor.startswith(TOKENIZER):
            return _tokenized(spec.literal, Path.cwd() / spec.processor.removeprefix(TOKENIZER))
        transform = lookup(parse_target(spec.processor, Path.cwd()), Path.cwd())
        if _is_factory(transform):
            transform = transform()
        result = transform(_source(spec))
    except (TargetError, LoadProblem) as error:
        raise ProcessorProblem(str(error)) from None
    except ImportError as error:
        raise ProcessorProblem(f"needs a package that is not there: {error}") from None
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ProcessorProblem(f"{spec.processor} raised {type(error).__name__}: {reason}") from None
    return _batched(result)


def _source(spec: InputSpec) -> Any:
    """Return the image or the text that goes in."""
    if spec.is_literal:
        return spec.literal
    from PIL import Image

    if spec.file is not None:
        return Image.open(spec.file).convert("RGB")
    height, width = spec.shape
    draw = torch.Generator().manual_seed(_SEED)
    data = bytes(torch.randint(0, 256, (height * width * 3,), generator=draw).tolist())
    return Image.frombytes("RGB", (width, height), data)


def _tokenized(text: Any, path: Path) -> dict[str, torch.Tensor]:
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(str(path), local_files_only=True)
    return dict(tokenizer(text if isinstance(text, list) else [text], return_tensors="pt", padding=True))


def _is_factory(value: Any) -> bool:
    """Tell whether a name stands for a function that returns the transform: it takes nothing."""
    try:
        return not inspect.signature(value).parameters
    except (TypeError, ValueError):
        return False


def _batched(value: Any) -> Any:
    """Return a single image with a batch axis in front."""
    if isinstance(value, torch.Tensor):
        return value[None] if value.dim() == 3 else value
    if isinstance(value, Mapping):
        return {name: torch.as_tensor(item) for name, item in value.items()}
    return torch.as_tensor(value)
