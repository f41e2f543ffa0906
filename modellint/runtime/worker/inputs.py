"""Turn input specs, saved tensors or an `example_inputs` function into the arguments of one call."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from modellint.catalog.document import suggestion
from modellint.runtime.capture.adapter import tensors
from modellint.runtime.specs import COMPLEX, FLOATS, InputSpec
from modellint.runtime.worker.processors import ProcessorProblem, processed

SEED = 20260101
"""Of all generated inputs."""


class InputProblem(Exception):
    """The inputs do not fit the call; the message is one line."""


@dataclasses.dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of one call, and in a word where they come from."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    origin: str


def from_specs(specs: Sequence[InputSpec], entry: Callable[..., Any], device: torch.device) -> Arguments:
    """Build the arguments that the specs describe. Raises `InputProblem`."""
    generator = torch.Generator().manual_seed(SEED)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for spec in specs:
        value = _value(spec, generator, device)
        if not spec.path and spec.file is not None and isinstance(value, (tuple, list)):
            args += value
        elif not spec.path and spec.processor is not None and isinstance(value, dict):
            kwargs |= _accepted(value, entry)
        elif not spec.path and spec.file is not None and _is_keywords(value, entry):
            kwargs |= value
        elif not spec.path:
            args.append(value)
        else:
            _place(kwargs, spec, value)
    kwargs = {name: _structured(name, value, entry) for name, value in kwargs.items()}
    _check(entry, args, kwargs)
    return Arguments(tuple(args), kwargs, "--input")


def from_example(module: ModuleType, model: nn.Module, entry: Callable[..., Any]) -> Arguments | None:
    """Return what `example_inputs` beside the target (or Lightning's `example_input_array`) gives, or None."""
    found, origin = getattr(module, "example_inputs", None), "example_inputs"
    if found is None:
        found, origin = getattr(model, "example_input_array", None), "example_input_array"
    if callable(found) and not isinstance(found, torch.Tensor):
        found = found()
    if found is None:
        return None
    device = device_of(model)
    if isinstance(found, dict) and _is_keywords(found, entry):
        return Arguments((), {name: moved(value, device) for name, value in found.items()}, origin)
    if isinstance(found, (tuple, list)) and not dataclasses.is_dataclass(found):
        if len(found) == 2 and isinstance(found[0], (tuple, list)) and _is_keywords(found[1], entry):
            kwargs = {name: moved(value, device) for name, value in found[1].items()}
            return Arguments(tuple(moved(value, device) for value in found[0]), kwargs, origin)
        return Arguments(tuple(moved(value, device) for value in found), {}, origin)
    return Arguments((moved(found, device),), {}, origin)


def device_of(model: nn.Module) -> torch.device:
    """Return the device of the first parameter or buffer; the CPU for a model without any."""
    first = next((tensor for source in (model.parameters(), model.buffers()) for tensor in source), None)
    return first.device if first is not None else torch.device("cpu")


def moved(value: Any, device: torch.device) -> Any:
    """Return `value` with its tensors on `device`."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {key: moved(item, device) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(moved(item, device) for item in value)
    return value


def batch_size(arguments: Arguments) -> int | None:
    """Return the size of the first axis of the first tensor."""
    first = next(tensors((arguments.args, arguments.kwargs)), None)
    return int(first.shape[0]) if first is not None and first.dim() else None


def _value(spec: InputSpec, generator: torch.Generator, device: torch.device) -> Any:
    if spec.processor is not None:
        try:
            return moved(processed(spec), device)
        except ProcessorProblem as error:
            raise InputProblem(f"input {spec.text!r}: {error}") from None
    if spec.is_literal:
        return spec.literal
    if spec.file is not None:
        return moved(_read(spec), device)
    dtype = getattr(torch, spec.dtype or "", None)
    if dtype is None:
        raise InputProblem(f"input {spec.text!r}: torch {torch.__version__} has no dtype {spec.dtype}")
    shape = spec.shape
    try:
        if spec.dtype == "bool":
            return torch.randint(0, 2, shape, generator=generator).bool().to(device)
        if spec.dtype in (*FLOATS, *COMPLEX):
            if spec.low is None or spec.high is None:
                base = torch.complex64 if spec.dtype in COMPLEX else torch.float32
                return torch.randn(shape, generator=generator, dtype=base).to(dtype).to(device)
            values = torch.rand(shape, generator=generator) * (spec.high - spec.low) + spec.low
            return values.to(dtype).to(device)
        low, high = int(spec.low or 0), int(spec.high if spec.high is not None else 2)
        return torch.randint(low, high, shape, generator=generator).to(dtype).to(device)
    except (RuntimeError, MemoryError, OverflowError) as error:
        raise InputProblem(f"input {spec.text!r}: {str(error).splitlines()[0]}") from None


def _read(spec: InputSpec) -> Any:
    assert spec.file is not None
    path = Path(spec.file)
    try:
        if path.suffix in (".pt", ".pth"):
            return torch.load(path, map_location="cpu", weights_only=True)
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(path)
        import numpy

        loaded = numpy.load(path, allow_pickle=False)
        if path.suffix == ".npy":
            return torch.from_numpy(loaded)
        return {name: torch.from_numpy(loaded[name]) for name in loaded.files}
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        if "weights_only" in str(error) or "Weights only" in str(error):
            reason = "holds more than tensors and plain values (it is read with weights_only=True)"
        raise InputProblem(f"input {spec.text!r}: cannot be read: {reason}") from None


def _place(kwargs: dict[str, Any], spec: InputSpec, value: Any) -> None:
    place: Any = kwargs
    for key in spec.path[:-1]:
        place = place.setdefault(key, {})
        if not isinstance(place, dict):
            raise InputProblem(f"input {spec.text!r}: {key} was given a value of its own")
    place[spec.path[-1]] = value


def _structured(name: str, value: Any, entry: Callable[..., Any]) -> Any:
    """Make lists of numbered entries and instances of the annotated dataclass or named tuple."""
    if not isinstance(value, dict):
        return value
    if value and all(key.isdigit() for key in value):
        return [_structured(name, value[key], entry) for key in sorted(value, key=int)]
    wanted = _annotation(entry, name)
    plain = {key: _structured("", item, entry) for key, item in value.items()}
    if wanted is not None and (dataclasses.is_dataclass(wanted) or hasattr(wanted, "_fields")):
        try:
            return wanted(**plain)
        except TypeError as error:
            raise InputProblem(f"input {name}: {error}") from None
    return plain


def _annotation(entry: Callable[..., Any], name: str) -> Any:
    try:
        hints = typing.get_type_hints(entry)
    except Exception:
        return None
    wanted = hints.get(name)
    options = [option for option in typing.get_args(wanted) if option is not type(None)]
    if options and not isinstance(wanted, type):
        wanted = options[0]
    return wanted if isinstance(wanted, type) else None


def _accepted(values: dict[str, Any], entry: Callable[..., Any]) -> dict[str, Any]:
    """Return what the method takes of a tokenizer's tensors: not every model knows them all."""
    try:
        parameters = inspect.signature(entry).parameters
    except (TypeError, ValueError):
        return values
    return {name: value for name, value in values.items() if name in parameters}


def _is_keywords(value: Any, entry: Callable[..., Any]) -> bool:
    if not isinstance(value, dict) or not value or not all(isinstance(key, str) for key in value):
        return False
    try:
        parameters = inspect.signature(entry).parameters.values()
    except (TypeError, ValueError):
        return True
    names = {parameter.name for parameter in parameters}
    return value.keys() <= names or (any(p.kind is p.VAR_KEYWORD for p in parameters) and len(names) > 1)


def _check(entry: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    try:
        signature = inspect.signature(entry)
    except (TypeError, ValueError):
        return
    name = getattr(entry, "__name__", "forward")
    shown = f"{name}{str(signature).split(' -> ')[0]}"
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        close = [suggestion(key, signature.parameters) for key in kwargs if key not in signature.parameters]
        raise InputProblem(f"the inputs do not fit {shown}: {error}{''.join(close[:1])}") from None


def describe_entry(entry: Callable[..., Any]) -> str:
    """Return the signature of the method that is called, shortened to one line."""
    try:
        shown = str(inspect.signature(entry)).split(" -> ")[0]
    except (TypeError, ValueError):
        shown = "(...)"
    shown = " ".join(shown.split())
    return f"{getattr(entry, '__name__', 'forward')}{shown if len(shown) < 300 else shown[:297] + '...'}"


def needs_input(entry: Callable[..., Any]) -> bool:
    """Tell whether the method cannot be called without arguments."""
    try:
        signature = inspect.signature(entry)
    except (TypeError, ValueError):
        return True
    return any(
        parameter.default is parameter.empty and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        for parameter in signature.parameters.values()
    )
