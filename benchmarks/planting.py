"""One defect put into a model at a place that is drawn by chance, and where it has to be reported.

`plant(model, inputs, kind, seed)` prints one line of JSON: the path of the module and the lines of which one has to be
named. An existing module is switched back where the model has one; else the class of a module is replaced by one that
does more in its forward. The lines are found by hooks of our own.
"""

from __future__ import annotations

import inspect
import json
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

KINDS = ("dropout", "drop path", "batch norm", "functional dropout", "attention dropout", "random call")
_TORCH = str(Path(torch.__file__).parent)
_HERE = str(Path(__file__))


@dataclass(frozen=True, slots=True)
class _Called:
    """A module that the forward calls: where from, and the shape of what it returns."""

    path: str
    module: nn.Module
    lines: tuple[str, ...]
    shape: torch.Size


def plant(model: nn.Module, inputs: tuple[tuple[Any, ...], dict[str, Any]], kind: str, seed: str) -> nn.Module:
    """Return the model with one defect of this kind in it. Raises `LookupError` where there is no place for it."""
    called = [entry for entry in _calls(model, inputs) if entry.path]
    draw = random.Random(seed)
    native = [entry for entry in called if _is_native(entry.module, kind)]
    if native:
        chosen = draw.choice(native)
        path, lines = _switch(chosen, kind)
    else:
        wrapped = [entry for entry in called if 3 <= len(entry.shape) <= 4 and min(entry.shape) > 1]
        if not wrapped:
            raise LookupError(f"no place for a {kind}")
        chosen = draw.choice(wrapped)
        path, lines = _extend(chosen, kind)
    print("PLANTED " + json.dumps({"path": path, "lines": lines, "native": bool(native)}), flush=True)
    return model


def _calls(model: nn.Module, inputs: tuple[tuple[Any, ...], dict[str, Any]]) -> list[_Called]:
    """Run one forward and return the modules that it calls and that return one tensor of floats."""
    names = {module: path for path, module in model.named_modules()}
    found: dict[nn.Module, _Called] = {}

    def note(module: nn.Module, arguments: Any, output: Any) -> None:
        if isinstance(output, Tensor) and output.is_floating_point() and module in names and module not in found:
            found[module] = _Called(names[module], module, tuple(_stack()), output.shape)

    handle = nn.modules.module.register_module_forward_hook(note)
    try:
        with torch.no_grad():
            model(*inputs[0], **inputs[1])
    finally:
        handle.remove()
    return list(found.values())


def _stack() -> Iterator[str]:
    """Yield the places outside torch and this file that led here, the innermost first."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name != _HERE and not _outside(name):
            yield f"{name}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]


def _is_native(module: nn.Module, kind: str) -> bool:
    if kind == "dropout":
        return type(module) is nn.Dropout
    if kind == "drop path":
        return "DropPath" in type(module).__name__ and hasattr(module, "drop_prob")
    if kind == "batch norm":
        return isinstance(module, nn.modules.batchnorm._BatchNorm) and module.track_running_stats
    if kind == "attention dropout":
        return bool(getattr(module, "fused_attn", False)) and isinstance(getattr(module, "attn_drop", None), nn.Dropout)
    return False


def _switch(chosen: _Called, kind: str) -> tuple[str, list[str]]:
    """Switch a module of the model back to training; return its path and the lines to be named."""
    module: Any = chosen.module
    module.training = True
    if kind == "dropout":
        module.p = module.p or 0.1
    elif kind == "drop path":
        module.drop_prob = module.drop_prob or 0.2
    elif kind == "attention dropout":
        module.attn_drop.p = 0.1
    return chosen.path, [*_own_lines(module), *chosen.lines[:1]]


def _own_lines(module: nn.Module) -> Iterator[str]:
    """Yield the lines of a module's own forward and of the functions beside it that this calls; none for torch's."""
    forward: Any = inspect.unwrap(type(module).forward)
    for function in (forward, *(forward.__globals__.get(name) for name in forward.__code__.co_names)):
        code = getattr(function, "__code__", None)
        if code is not None and code.co_filename == forward.__code__.co_filename and not _outside(code.co_filename):
            rows = {row for _, _, row in code.co_lines() if row is not None}
            yield from (f"{code.co_filename}:{row}" for row in sorted(rows))


def _outside(file: str) -> bool:
    return file.startswith((_TORCH, "<"))


def _extend(chosen: _Called, kind: str) -> tuple[str, list[str]]:
    """Let a module do more in its forward; return the path of what does it and the line."""
    module, part = chosen.module, _part(kind, chosen)
    body = _BODIES[kind]

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        value = original.forward(self, *args, **kwargs)
        return body(self, value) if isinstance(value, Tensor) and value.shape[1:] == chosen.shape[1:] else value

    original: Any = type(module)
    module.__class__ = type(original.__name__, (original,), {"forward": forward})
    if part is not None:
        device = next((tensor.device for tensor in (*module.parameters(), *module.buffers())), None)
        module.add_module("planted", part.to(device or "meta"))
    row = body.__code__.co_firstlineno + 1
    path = f"{chosen.path}.planted" if part is not None else chosen.path
    return path, [f"{_HERE}:{row}", *(_own_lines(part) if part is not None else ())]


def _part(kind: str, chosen: _Called) -> nn.Module | None:
    if kind == "dropout":
        return nn.Dropout(0.1).train()
    if kind == "drop path":
        from timm.layers import DropPath

        return DropPath(0.2).train()
    if kind == "batch norm":
        return nn.BatchNorm1d(chosen.shape[1]).train()
    return None


def _module(self: Any, value: Tensor) -> Tensor:
    return self.planted(value)  # type: ignore[no-any-return]


def _norm(self: Any, value: Tensor) -> Tensor:
    return self.planted(value.flatten(2)).view(value.shape)  # type: ignore[no-any-return]


def _dropout(self: Any, value: Tensor) -> Tensor:
    return F.dropout(value, 0.1)  # modellint: ignore[ML104]


def _attention(self: Any, value: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(*(value.flatten(2),) * 3, dropout_p=0.1).view(value.shape)


def _noise(self: Any, value: Tensor) -> Tensor:
    return value + 0.01 * torch.randn_like(value)


_BODIES: dict[str, Callable[[Any, Tensor], Tensor]] = {
    "dropout": _module, "drop path": _module, "batch norm": _norm, "functional dropout": _dropout,
    "attention dropout": _attention, "random call": _noise,
}  # fmt: skip
