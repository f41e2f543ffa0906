"""Take note of everything a forward may change, and put it back: after a trace the model is what it was."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from modellint.runtime.capture.operands import storage
from modellint.runtime.capture.random_sources import RandomState, sources

_TABLES = ("_parameters", "_buffers", "_modules")


class Snapshot:
    """The state of a model and of the process around it, at one moment."""

    def __init__(self, model: nn.Module) -> None:
        # A scripted module keeps its state in C++ and shows it through views that cannot be replaced.
        self._modules = [m for m in model.modules() if not isinstance(m, torch.jit.ScriptModule)]
        self._scripted = [(m, m.training) for m in model.modules() if isinstance(m, torch.jit.ScriptModule)]
        self._attributes = [_attributes(module) for module in self._modules]
        self._tables = [{name: dict(vars(module)[name]) for name in _TABLES} for module in self._modules]
        self._containers = [
            (value, value.copy())
            for attributes in self._attributes
            for value in attributes.values()
            if type(value) in (list, dict, set, deque)
        ]
        loose = [t for attributes in self._attributes for t in attributes.values() if type(t) is torch.Tensor]
        self._buffers = [
            (buffer, buffer.detach().clone()) for buffer in (*model.buffers(), *loose) if not is_lazy(buffer)
        ]
        self._parameters = [
            (parameter, parameter._version, parameter.requires_grad, parameter.grad) for parameter in model.parameters()
        ]
        # The same memory under another name: what `parameter.data = ...` puts in its place can be taken out again.
        self._data = [(parameter, parameter.detach()) for parameter in model.parameters() if not is_lazy(parameter)]
        self._saved: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._random = RandomState(sources(model))
        self._flags = _flags()
        self.parameters_changed = False
        """Whether `restore` found a parameter that had been kept with other values."""

    def keep(self, tensor: torch.Tensor) -> None:
        """Copy a parameter before something writes to it (parameters are too big to copy beforehand)."""
        if id(tensor) not in self._saved:
            with torch.no_grad():
                self._saved[id(tensor)] = (tensor, tensor.detach().clone())

    @property
    def parameters(self) -> list[torch.Tensor]:
        """The parameters that `keep` should be told about."""
        return [entry[0] for entry in self._parameters]

    def restore(self) -> None:
        """Put everything back, whatever happened in between."""
        _restore_flags(self._flags)
        for module, attributes, tables in zip(self._modules, self._attributes, self._tables, strict=True):
            values = vars(module)
            for name in [name for name in values if name not in attributes and name not in _TABLES]:
                del values[name]
            values.update(attributes)
            for name, table in tables.items():
                current = values[name]
                current.clear()
                current.update(table)
        for module, training in self._scripted:
            if module.training != training:
                module.training = training
        for value, before in self._containers:
            value.clear()
            value.extend(before) if isinstance(value, (list, deque)) else value.update(before)
        for parameter, data in self._data:
            if is_lazy(parameter) or _place(parameter) != _place(data):
                parameter.data = data
                self.parameters_changed = True
        with torch.no_grad():
            for tensor, before in (*self._buffers, *self._saved.values()):
                if tensor.shape == before.shape and not _same(tensor, before):
                    _write(tensor, before)
                    self.parameters_changed = self.parameters_changed or id(tensor) in self._saved
        for parameter, _, requires_grad, grad in self._parameters:
            parameter.requires_grad_(requires_grad)
            parameter.grad = grad
        self._random.restore()


def _place(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Return what tells the memory behind a tensor, and how it is read, from any other."""
    if tensor.layout is not torch.strided or tensor.is_nested:
        return (tensor.layout,)
    return (storage(tensor), tensor.is_inference(), tensor.dtype, tuple(tensor.shape), tensor.stride())


def _same(tensor: torch.Tensor, before: torch.Tensor) -> bool:
    try:
        return torch.equal(tensor, before)
    except NotImplementedError:  # sparse layouts cannot be compared; writing what is there already does no harm
        return False


def _write(tensor: torch.Tensor, before: torch.Tensor) -> None:
    if tensor.is_inference():
        with torch.inference_mode():
            tensor.copy_(before)
    else:
        tensor.copy_(before)


def _attributes(module: nn.Module) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if name not in _TABLES}


def _flags() -> dict[str, Any]:
    return {
        "grad": torch.is_grad_enabled(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "benchmark": torch.backends.cudnn.benchmark,
        "cudnn": torch.backends.cudnn.deterministic,
        "dtype": torch.get_default_dtype(),
        "precision": torch.get_float32_matmul_precision(),
    }


def _restore_flags(flags: dict[str, Any]) -> None:
    now = _flags()
    torch.set_grad_enabled(flags["grad"])
    if any(now[name] != flags[name] for name in ("deterministic", "warn_only")):
        # Not called without need: it imports all of torch._inductor.
        torch.use_deterministic_algorithms(flags["deterministic"], warn_only=flags["warn_only"])
    torch.backends.cudnn.benchmark = flags["benchmark"]
    torch.backends.cudnn.deterministic = flags["cudnn"]
    torch.set_default_dtype(flags["dtype"])
    if now["precision"] != flags["precision"]:
        torch.set_float32_matmul_precision(flags["precision"])


@contextmanager
def preserved(model: nn.Module, *, copies: bool = False) -> Iterator[Snapshot]:
    """Run a block and leave the model, the random states and the flags as they were.

    With `copies` all parameters are copied first; without, the block must call `Snapshot.keep` before it writes.
    """
    snapshot = Snapshot(model)
    if copies:
        for parameter in snapshot.parameters:
            snapshot.keep(parameter)
    try:
        yield snapshot
    finally:
        snapshot.restore()
