"""Inputs where the user gives none: what the model's own configuration declares, and a spec to suggest.

transformers: the configuration's sizes and the names of forward's arguments. timm: `default_cfg`. Otherwise the
first layer tells what it takes, which is only ever suggested, after it was tried.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from modellint.runtime.specs import FREE_SIZE
from modellint.runtime.worker.inputs import Arguments, device_of

_TRIED = 50_000_000
"""Parameters of the largest model on which guesses are tried."""
_TEXT, _AUDIO, _IMAGE, _SIGNAL = 8, 128, 64, 16_000


def from_configuration(model: nn.Module, entry: Callable[..., Any]) -> Arguments | None:
    """Return inputs that the model's own configuration declares, or None."""
    specs = _timm(model) or _transformers(model, entry)
    if specs is None:
        return None
    args, kwargs = [], {}
    device = device_of(model)
    generator = torch.Generator().manual_seed(0)
    dtype = next((p.dtype for p in model.parameters() if p.is_floating_point()), torch.float32)
    for name, (kind, shape, high) in specs.items():
        if kind == "int64":
            value = torch.randint(1 if high > 1 else 0, max(high, 2), shape, generator=generator)
        elif kind == "ones":
            value = torch.ones(shape, dtype=torch.int64)
        else:
            value = torch.randn(shape, generator=generator).to(dtype)
        if name:
            kwargs[name] = value.to(device)
        else:
            args.append(value.to(device))
    shown = " ".join(_spec(name, spec) for name, spec in specs.items())
    return Arguments(tuple(args), kwargs, f"the model's own configuration: {shown}")


Spec = tuple[str, tuple[int, ...], int]


def _spec(name: str, spec: Spec) -> str:
    kind, shape, high = spec
    size = ",".join(map(str, shape))
    body = {"int64": f"int64[{size}]:1..{high}", "ones": f"int64[{size}]:1..2"}.get(kind, f"{kind}[{size}]")
    return f"{name}={body}" if name else body


def _timm(model: nn.Module) -> dict[str, Spec] | None:
    for name in ("pretrained_cfg", "default_cfg"):
        found = getattr(model, name, None)
        size = found.get("input_size") if isinstance(found, dict) else getattr(found, "input_size", None)
        if isinstance(size, (tuple, list)) and len(size) == 3 and all(isinstance(part, int) for part in size):
            return {"": ("float32", (FREE_SIZE, *size), 0)}
    return None


def _first(config: Any, *names: str) -> Any:
    """Return the first of these settings that the configuration, or one nested in it, has."""
    parts = [config]
    for below in ("text_config", "vision_config", "audio_config", "encoder", "decoder", "speech_config"):
        if (part := getattr(config, below, None)) is not None:
            parts.append(part)
    for name in names:
        for part in parts:
            value = part.get(name) if isinstance(part, dict) else getattr(part, name, None)
            if value is not None:
                return value
    return None


def _transformers(model: nn.Module, entry: Callable[..., Any]) -> dict[str, Spec] | None:
    config = getattr(model, "config", None)
    main = getattr(model, "main_input_name", None)
    if config is None or not isinstance(main, str):
        return None
    try:
        names = list(inspect.signature(entry).parameters)
    except (TypeError, ValueError):
        return None
    two = FREE_SIZE - 1
    vocabulary = int(_first(config, "vocab_size") or 100)
    found: dict[str, Spec] = {}
    for name in names:
        if name == "input_ids" and (main == name or hasattr(config, "text_config")):
            found[name] = ("int64", (two, _TEXT), vocabulary)
        elif name == "pixel_values" and (main == name or hasattr(config, "vision_config")):
            found[name] = ("float32", _image(config, main, two), 0)
        elif name in ("input_values", "input_features") and main == name:
            found[name] = ("float32", _audio(config, name, two), 0)
        elif name == "decoder_input_ids" and getattr(config, "is_encoder_decoder", False):
            found[name] = ("int64", (two, _TEXT), vocabulary)
        elif name == "pixel_values_videos" and main == name:
            frames = int(_first(config, "num_frames", "frames_per_clip") or 16)
            found[name] = ("float32", (two, frames, *_image(config, name, two)[1:]), 0)
    if "input_ids" in found and "attention_mask" in names:
        found["attention_mask"] = ("ones", (two, _TEXT), 2)
    return found if main in found else None


def _image(config: Any, main: str, batch: int) -> tuple[int, ...]:
    channels = int(_first(config, "num_channels", "in_channels", "in_chans") or 3)
    size = _first(config, "image_size", "input_size", "crop_size")
    if isinstance(size, Mapping):
        size = (size.get("height", _IMAGE), size.get("width", _IMAGE))
    height, width = size[-2:] if isinstance(size, (list, tuple)) and len(size) > 1 else (size, size)
    if isinstance(height, (list, tuple)):
        height, width = height[0], height[0]
    frames = _first(config, "num_frames")
    shape = (batch, channels, int(height or _IMAGE), int(width or _IMAGE))
    if frames and main == "pixel_values" and type(config).__name__.startswith(("VideoMAE", "Timesformer", "Vivit")):
        return (batch, int(frames), *shape[1:])
    return shape


def _audio(config: Any, name: str, batch: int) -> tuple[int, ...]:
    bins = _first(config, "num_mel_bins", "feature_size", "input_feat_per_channel")
    if bins is None or (name == "input_values" and not hasattr(config, "num_mel_bins")):
        return (batch, _SIGNAL)
    positions = _first(config, "max_source_positions")
    kind = type(config).__name__
    if kind.startswith("Whisper") and positions:
        return (batch, int(bins), 2 * int(positions))
    length = int(_first(config, "max_length") or _AUDIO) if kind.startswith("AST") else _AUDIO
    return (batch, length, int(bins))


def suggestion(model: nn.Module, entry: Callable[..., Any], works: Callable[[Arguments], bool]) -> str:
    """Return specs that one forward accepted, as the words behind `--input`; empty where none was found."""
    try:
        parameters = inspect.signature(entry).parameters.values()
    except (TypeError, ValueError):
        return ""
    required = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    size = sum(parameter.numel() for parameter in model.parameters())
    if not 0 < len(required) <= 3 or size > _TRIED:
        return ""
    for spec in _guesses(model):
        kind, shape, high = spec
        values = [
            torch.randint(0, high, shape, device=device_of(model))
            if kind == "int64"
            else torch.randn(shape, device=device_of(model))
            for _ in required
        ]
        arguments = Arguments((), dict(zip(required, values, strict=True)), "a guess")
        if works(arguments):
            text = _spec("", spec).replace(":1..", ":0..")
            if len(required) == 1:
                return text
            return " --input ".join(f"{name}={text}" for name in required)
    return ""


def _guesses(model: nn.Module) -> list[Spec]:
    found: list[Spec] = []
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            found.append(("int64", (2, 16), module.num_embeddings))
        elif isinstance(module, (nn.Conv1d, nn.Conv2d, nn.Conv3d)) and not module.transposed:
            for side in (64, 224):
                found.append(("float32", (2, module.in_channels, *[side] * (len(module.kernel_size))), 0))
        elif isinstance(module, nn.Linear):
            found.append(("float32", (2, module.in_features), 0))
            found.append(("float32", (2, 16, module.in_features), 0))
        elif isinstance(module, nn.RNNBase):
            found.append(("float32", (2, 16, module.input_size), 0))
        elif isinstance(module, nn.modules.batchnorm._BatchNorm):
            sides = {nn.BatchNorm2d: 2, nn.BatchNorm3d: 3}.get(type(module), 0)
            found.append(("float32", (2, module.num_features, *[32] * sides), 0))
        elif isinstance(module, nn.LayerNorm):
            found.append(("float32", (2, 16, *module.normalized_shape), 0))
        elif isinstance(module, nn.MultiheadAttention):
            found.append(("float32", (2, 16, module.embed_dim), 0))
        if len(found) >= 4:
            break
    return list(dict.fromkeys([*found, ("float32", (2, 8), 0), ("float32", (2, 3, 64, 64), 0)]))
