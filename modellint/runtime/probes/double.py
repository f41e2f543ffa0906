"""The arbiter: in double precision rounding all but disappears, and what is wrong stays."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

import torch
from torch import nn

from modellint.runtime.capture.state import preserved
from modellint.runtime.probes.bench import Bench, OutOfTime
from modellint.runtime.probes.compare import Difference
from modellint.runtime.probes.tree import rebuilt

ROUNDING = 1e-8
"""What may remain of a difference in double precision, where it came from rounding alone."""

Run = Callable[..., Any]
"""Run the model in double precision on (args, kwargs): where it is, or a copy of it on `device`."""


def is_rounding(bench: Bench, measure: Callable[[Run], Difference], below: float = ROUNDING) -> bool | None:
    """Tell whether a difference is gone in double precision; None where the model does not run in it.

    `measure` is given what runs the model in double precision. Gone is what is not larger than `below`.
    """
    with preserved(bench.model, copies=True):
        try:
            model = copy.deepcopy(bench.model).double()
            before = torch.get_default_dtype()
            torch.set_default_dtype(torch.float64)
            try:
                found = measure(partial(_run, bench, model))
            finally:
                torch.set_default_dtype(before)
        except OutOfTime:
            raise
        except Exception:
            return None
    return found.relative <= below


def cause_of_rounding(bench: Bench, device: str | None = None) -> str:
    """Return what rounds: TF32 (10 bits of mantissa) where the model or `device` is a GPU that may use it.

    "Numerical accuracy" in torch's notes; by default convolutions may, since Ampere.
    """
    on_a_gpu = device == "cuda" or any(parameter.device.type == "cuda" for parameter in bench.model.parameters())
    return "TF32" if on_a_gpu and any(map(_may_use_tf32, _SWITCHES)) else "reduction order"


_SWITCHES = (
    (torch.backends.cuda.matmul, "fp32_precision"),
    (torch.backends.cudnn, "conv.fp32_precision"),
    (torch.backends.cudnn, "rnn.fp32_precision"),
)


def _may_use_tf32(switch: tuple[Any, str]) -> bool:
    backend, name = switch
    try:
        return bool(backend.allow_tf32)
    except RuntimeError:  # torch refuses the old name once a program has used the new one
        return bool(attrgetter(name)(backend) == "tf32")


def _run(bench: Bench, model: nn.Module, args: Any, kwargs: Any, device: str | None = None) -> Any:
    if device is not None:
        model = copy.deepcopy(model).to(device)

    def change(_: str, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(device=device, dtype=torch.float64 if tensor.is_floating_point() else None)

    args, kwargs = rebuilt((args, kwargs), change)
    with preserved(model):
        return bench.call(lambda run: run.call(), args, kwargs, model=model, as_they_are=True)
