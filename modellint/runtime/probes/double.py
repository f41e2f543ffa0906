"""The arbiter: in double precision rounding all but disappears, and what is wrong stays."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from modellint.runtime.capture.state import preserved
from modellint.runtime.probes.bench import Bench, OutOfTime
from modellint.runtime.probes.compare import Difference
from modellint.runtime.probes.tree import rebuilt

ROUNDING = 1e-8
"""What may remain of a difference in double precision, where it came from rounding alone."""

Run = Callable[[Any, Any], Any]


def is_rounding(bench: Bench, measure: Callable[[Run], Difference], below: float = ROUNDING) -> bool | None:
    """Tell whether a difference is gone in double precision; None where the model does not run in it.

    `measure` is given a function that runs the model in double precision on the inputs it is given. Gone is what is
    not larger than `below`.
    """
    with preserved(bench.model, copies=True):
        try:
            model = copy.deepcopy(bench.model).double()
            before = torch.get_default_dtype()
            torch.set_default_dtype(torch.float64)
            try:
                found = measure(lambda args, kwargs: _run(bench, model, args, kwargs))
            finally:
                torch.set_default_dtype(before)
        except OutOfTime:
            raise
        except Exception:
            return None
    return found.relative <= below


def _run(bench: Bench, model: nn.Module, args: Any, kwargs: Any) -> Any:
    args, kwargs = rebuilt((args, kwargs), lambda _, tensor: tensor.double() if tensor.is_floating_point() else tensor)
    with preserved(model):
        return bench.call(lambda run: run.call(), args, kwargs, model=model, as_they_are=True)
