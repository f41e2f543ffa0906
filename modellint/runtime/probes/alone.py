"""ML702: a sample in batches of several sizes. Rounding is told from a dependence by trying it in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from modellint.runtime.probes.batch import NoBatch, one_sample
from modellint.runtime.probes.bench import Bench, OutOfTime
from modellint.runtime.probes.compare import Difference, difference, to_the_shorter, tolerance_of
from modellint.runtime.probes.double import cause_of_rounding, is_rounding
from modellint.runtime.probes.drift import Parting, part
from modellint.runtime.probes.neighbours import Samples, batch_samples
from modellint.runtime.probes.order import turned_round
from modellint.runtime.probes.result import FAILED, PASSED, VACUOUS, ProbeResult
from modellint.runtime.probes.samples import cut
from modellint.runtime.probes.tape import Tape

QUICK, THOROUGH = (1, 2), (1, 2, 3, 8)


def alone(bench: Bench) -> ProbeResult:
    """Run the probe."""
    try:
        samples = batch_samples(bench)
    except NoBatch as reason:
        return ProbeResult("alone", VACUOUS, str(reason))
    if not samples.plan:
        return ProbeResult("alone", VACUOUS, "no output grows with the batch")
    sizes = [size for size in (QUICK if bench.quick else THOROUGH) if size != samples.batch.size]
    by_size: dict[int, Difference] = {}
    refused: dict[int, str] = {}
    for size in sizes:
        try:
            by_size[size] = _compare(samples, size, lambda args, kwargs: bench.run(args, kwargs), samples.outputs)
        except OutOfTime:
            raise
        except Exception as error:
            refused[size] = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:150]}"
    limit = tolerance_of(samples.outputs)
    details: dict[str, Any] = {
        "reference": f"batch of {samples.batch.size}",
        "by size": {str(size): found.relative for size, found in by_size.items()},
    }
    if refused:
        details["refused"] = {str(size): error for size, error in refused.items()}
    if not by_size:
        return ProbeResult("alone", VACUOUS, "the model takes batches of one size only", details=details)
    size, worst = max(by_size.items(), key=lambda item: item[1].relative)
    if 1 in refused and worst.relative <= limit.limit:
        return ProbeResult(
            "alone",
            FAILED,
            f"a sample alone stops the forward ({refused[1]})",
            "a batch of one is refused",
            None,
            limit.limit,
            limit.origin,
            details=details,
        )
    result = ProbeResult("alone", PASSED, "", "", worst.relative, limit.limit, limit.origin, details=details)
    if worst.relative <= limit.limit:
        return (None if refused else turned_round(bench, samples)) or result
    rounding = is_rounding(bench, lambda run: _compare_anew(samples, size, run))
    details["in double precision"] = {True: "gone", False: "still there", None: "not tried: the model does not run"}[
        rounding
    ]
    parting = Parting() if rounding else _part(bench, samples, size, limit.limit)
    if rounding or (rounding is None and all(culprit.inherited > 0 for culprit in parting.culprits)):
        why = "rounding, which the model makes larger than the tolerance; in double precision it is gone"
        return replace(result, reason=why, cause=cause_of_rounding(bench))
    if parting.is_drawn:
        why = "random numbers are handed out in the order of the batch: nothing can be told of its size"
        return ProbeResult("alone", VACUOUS, why, details=details)
    if why := one_sample(bench, samples.batch):
        return ProbeResult("alone", VACUOUS, why, details=details)
    return replace(
        result,
        verdict=FAILED,
        reason=f"batch of {size} against batch of {samples.batch.size}: {worst.what}",
        cause="the size of the batch",
        culprits=parting.culprits,
        layers=parting.layers,
    )


def _compare_anew(samples: Samples, size: int, run: Callable[[Any, Any], Any]) -> Difference:
    return _compare(samples, size, run, run(samples.batch.args, samples.batch.kwargs))


def _compare(samples: Samples, size: int, run: Callable[[Any, Any], Any], reference: Any) -> Difference:
    """Return the worst difference of the first and the last sample of a batch of `size` from the reference."""
    other = samples.batch.resized(size)
    outputs = run(other.args, other.kwargs)
    worst = Difference()
    for index in sorted({0, min(size, samples.batch.size) - 1}):
        before = cut(reference, samples.plan, index, samples.batch.size)
        try:
            after = cut(outputs, samples.plan, index, size)
        except (IndexError, ZeroDivisionError):
            return Difference(math.inf, False, "", "the axis of the samples is lost")
        shortened = to_the_shorter(before, after)
        found = _lost(before, after) or difference(*(shortened or (before, after)))
        if not found.exact and (worst.exact or found.relative > worst.relative):
            worst = found
    return worst


def _lost(before: Mapping[str, Any], after: Mapping[str, Any]) -> Difference | None:
    for path, value in before.items():
        other = after.get(path)
        if isinstance(value, torch.Tensor) and isinstance(other, torch.Tensor) and value.dim() != other.dim():
            what = f"an output of {value.dim()} axes against one of {other.dim()}"
            return Difference(math.inf, False, path, what)
    return None


def _part(bench: Bench, samples: Samples, size: int, limit: float) -> Parting:
    # The smaller batch is compared with the larger one, which has all of its samples.
    larger, smaller = sorted((samples.batch, samples.batch.resized(size)), key=lambda batch: -batch.size)
    index = 0

    def fit(value: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor | None:
        if value.shape == tensor.shape:
            return value
        if value.dim() != tensor.dim():
            return None
        for axis, (before, after) in enumerate(zip(value.shape, tensor.shape, strict=True)):
            if before != after:
                if before * smaller.size != after * larger.size or not before:
                    return None
                return value.narrow(axis, 0, after)
        return value

    def pair(reference: Tape, other: Callable[[], Tape]) -> bool:
        first = bench.run(larger.args, larger.kwargs, tape=reference)
        try:
            second = bench.run(smaller.args, smaller.kwargs, tape=other())
            before, after = (
                cut(outputs, samples.plan, index, batch.size) for outputs, batch in ((first, larger), (second, smaller))
            )
        except (RuntimeError, ValueError, IndexError):
            return True
        return _lost(before, after) is not None or difference(before, after).relative > limit

    return part(bench, pair, limit, fit=fit)
