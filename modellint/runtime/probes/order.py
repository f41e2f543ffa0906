"""ML702, too: a batch the other way round. Where a sample stands in it must not matter, as its size must not."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import nn

from modellint.runtime.probes.bench import Bench, OutOfTime
from modellint.runtime.probes.compare import Difference, difference, tensor_difference, tolerance_of
from modellint.runtime.probes.double import is_rounding
from modellint.runtime.probes.drift import failed, part
from modellint.runtime.probes.neighbours import Samples, batch_samples, neighbours
from modellint.runtime.probes.repeat import watched
from modellint.runtime.probes.result import PASSED, ProbeResult
from modellint.runtime.probes.samples import cut
from modellint.runtime.probes.tape import Tape
from modellint.runtime.probes.tree import leaves


def turned_round(bench: Bench, samples: Samples) -> ProbeResult | None:
    """Return the verdict on a model that tells the places in a batch apart, None for one that does not.

    Asked only where something proves that the first axis counts samples, and not the time, views or agents: a layer
    that is told so and mixes along the second one. Nor where numbers beside the tensors may go by the place as well, or
    samples come sorted; and what is drawn goes by the place anyway.
    """
    if samples.batch.size < 2 or samples.batch.axis != 0 or not _is_batch_first(bench.model):
        return None
    if not _is_whole(samples) or neighbours(bench).verdict != PASSED or batch_samples(bench) is not samples:
        return None
    turned = samples.batch.turned()
    try:
        outputs, draws = watched(bench, turned.args, turned.kwargs)
    except OutOfTime:
        raise
    except Exception:  # some models take their samples in one order only: sorted by length, perhaps
        return None
    if draws:
        return None
    found = _difference(samples, samples.outputs, outputs)
    limit = tolerance_of(samples.outputs)
    if found.relative <= limit.limit or is_rounding(bench, partial(_anew, samples)):
        return None
    found = replace(found, what=f"the batch in reverse order: {found.what}")
    details = {"reference": f"batch of {samples.batch.size}"}
    return failed(
        "alone",
        found,
        limit,
        "the place in the batch",
        part(bench, _pair(bench, samples), limit.limit, fit=_fit(samples)),
        details,
    )


def _is_batch_first(model: nn.Module) -> bool:
    return any(getattr(module, "batch_first", False) is True for module in model.modules())


def _is_whole(samples: Samples) -> bool:
    """Tell whether all that a model is given are tensors that hold its samples, in no order of their own."""
    given = [
        (path, leaf) for path, leaf in leaves(samples.batch.held) if leaf is not None and not isinstance(leaf, bool)
    ]
    return all(path in samples.batch.paths and not _is_sorted(leaf) for path, leaf in given)


def _is_sorted(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor holds lengths from the longest to the shortest, as packing once asked for."""
    return tensor.dim() == 1 and not tensor.is_floating_point() and bool((tensor[1:] <= tensor[:-1]).all())


def _anew(samples: Samples, run: Callable[[Any, Any], Any]) -> Difference:
    batch, turned = samples.batch, samples.batch.turned()
    return _difference(samples, run(batch.args, batch.kwargs), run(turned.args, turned.kwargs))


def _difference(samples: Samples, outputs: Any, turned: Any) -> Difference:
    """Return how far the first and the last sample are from what they are where the other one stands.

    Whole numbers are left out: they may say which sample it is.
    """
    size = samples.batch.size
    pairs = (
        (cut(outputs, samples.plan, index, size), cut(turned, samples.plan, size - 1 - index, size))
        for index in (0, size - 1)
    )
    found = (difference(_fractions(before), _fractions(after)) for before, after in pairs)
    return max(found, key=lambda one: one.relative)


def _fractions(sample: Mapping[str, Any]) -> dict[str, Any]:
    return {
        path: value for path, value in sample.items() if isinstance(value, torch.Tensor) and value.is_floating_point()
    }


def _pair(bench: Bench, samples: Samples) -> Callable[[Tape, Callable[[], Tape]], bool]:
    batch, turned = samples.batch, samples.batch.turned()

    def pair(reference: Tape, other: Callable[[], Tape]) -> bool:
        first = bench.run(batch.args, batch.kwargs, tape=reference)
        second = bench.run(turned.args, turned.kwargs, tape=other())
        return _difference(samples, first, second).relative > tolerance_of(first).limit

    return pair


def _fit(samples: Samples) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor | None]:
    """Return what turns a tensor of the reference round where it holds samples: in the way that fits the other best."""

    def fit(value: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor | None:
        if value.shape != tensor.shape:
            return None
        ways = [value, *_turned(value, samples.batch.size)]
        return min(ways, key=lambda way: _far(way, tensor))

    return fit


def _far(value: torch.Tensor, tensor: torch.Tensor) -> float:
    far = tensor_difference(value, tensor).relative
    return math.inf if math.isnan(far) else far


def _turned(value: torch.Tensor, size: int) -> list[torch.Tensor]:
    """Return a tensor turned round along each axis that may count the samples, alone or with what they hold."""
    found = []
    for axis, length in enumerate(value.shape):
        if length == size:
            found.append(value.flip(axis))
        elif length and length % size == 0:
            found += [
                torch.unflatten(value, axis, shape).flip(axis + place).flatten(axis, axis + 1)
                for place, shape in enumerate(((size, -1), (-1, size)))
            ]
    return found
