"""Modules whose method runs without their `__call__`, such as `layer.forward(x)`: no hook tells, the stack does."""

from __future__ import annotations

from types import FrameType

from torch import nn

_REACH = 60
"""Frames looked at: torch puts about eight between one module and the next."""


def running(frame: FrameType | None, caller: nn.Module | None) -> list[tuple[nn.Module, FrameType]]:
    """Return the modules whose methods are on the stack between `frame` and the one of `caller`, outermost first.

    With each goes the frame that called it.
    """
    found: dict[int, tuple[nn.Module, FrameType]] = {}
    for _ in range(_REACH):
        if frame is None:
            break
        owner = _self(frame)
        if owner is not None and owner is caller:
            break
        if owner is not None and frame.f_back is not None:
            found.pop(id(owner), None)
            found[id(owner)] = (owner, frame.f_back)
        frame = frame.f_back
    return list(reversed(found.values()))


def _self(frame: FrameType) -> nn.Module | None:
    """Return the module that a frame is a method of."""
    code = frame.f_code
    if not code.co_argcount or code.co_name == "__init__":
        return None
    owner = frame.f_locals.get(code.co_varnames[0])
    return owner if isinstance(owner, nn.Module) else None


def in_constructor(frame: FrameType | None) -> bool:
    """Tell whether a draw initialises a module that is being built."""
    for _ in range(12):
        if frame is None:
            return False
        if frame.f_code.co_name == "__init__" and isinstance(frame.f_locals.get("self"), nn.Module):
            return True
        frame = frame.f_back
    return False
