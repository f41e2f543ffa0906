"""Lazy modules get their shapes from the first forward: run it before anything is observed."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from modellint.runtime.capture.random_sources import RandomState, sources


def count_lazy(model: nn.Module) -> int:
    """Return how many modules still wait for their first forward."""
    return sum(
        any(is_lazy(tensor) for tensor in (*module.parameters(recurse=False), *module.buffers(recurse=False)))
        for module in model.modules()
    )


def materialise(model: nn.Module, call: Callable[[], object]) -> str:
    """Run one forward in eval mode, so that it changes nothing but the shapes; return what to tell the user.

    Random states and modes are put back. Raises what the forward raises.
    """
    waiting = count_lazy(model)
    if not waiting:
        return ""
    modes = [(module, module.training) for module in model.modules()]
    before = RandomState(sources(model))
    try:
        for module, _ in modes:
            module.training = False
        with torch.no_grad():
            call()
    finally:
        for module, training in modes:
            module.training = training
        before.restore()
    modules = "1 lazy module got its shape" if waiting == 1 else f"{waiting} lazy modules got their shapes"
    return f"{modules} from one forward before the trace"
