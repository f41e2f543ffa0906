"""ML607: change all samples but one; the one must stay what it is, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from modellint.runtime.probes.batch import Batch, NoBatch, find_batch, one_sample, takes_sequence_first
from modellint.runtime.probes.bench import Bench, OutOfTime
from modellint.runtime.probes.compare import Difference, difference, to_the_shorter, tolerance_of
from modellint.runtime.probes.result import FAILED, PASSED, VACUOUS, ProbeResult
from modellint.runtime.probes.samples import Axis, cut, fixed_plan, plan
from modellint.runtime.probes.tree import leaves

STYLES = (("wide", 0), ("wide", -1), ("near", 0), ("near", -1), ("still", 0), ("copy", -1))
MORE_STYLES = (("still", -1), ("copy", 0), ("far", 0), ("far", -1), ("far", 1))
"""What is done to the others, and which sample is kept: a causal model couples only one way.

The second as well: the first and the last may be the longest and the shortest, whose rank no other sample takes.
"""
AS_LONG_AS_THE_LONGEST = "the outputs are as long as the longest of the batch needs, and agree as far as both go"


@dataclass(slots=True)
class Samples:
    """A batch, its outputs, and how they are cut into samples."""

    batch: Batch
    outputs: Any
    plan: Mapping[str, Axis]
    resized: bool

    def of(self, outputs: Any, index: int) -> dict[str, Any]:
        """Return what belongs to sample `index` (-1: the last)."""
        return cut(outputs, self.plan, index % self.batch.size, self.batch.size)


@dataclass(slots=True)
class Leak:
    """A sample whose answer changed with its neighbours: the way that showed it, and how far."""

    samples: Samples
    style: str
    keep: int
    found: Difference


def batch_samples(bench: Bench) -> Samples:
    """Return the samples along the axis that counts them, measured once for all probes. Raises `NoBatch`."""
    if "samples" not in bench.kept:
        bench.kept["samples"] = samples_of(bench, find_batch(bench.subject))
    samples: Samples = bench.kept["samples"]
    return samples


def samples_of(bench: Bench, batch: Batch, wanted: int | None = None) -> Samples:
    """Run the batch, and one of another size to see which output axis counts samples. Raises `NoBatch`."""
    size = wanted or max(batch.size, 2)
    last = ""
    for candidate in dict.fromkeys((size, batch.size)):
        if candidate < 2:
            continue
        try:
            chosen = batch if candidate == batch.size else batch.resized(candidate)
            outputs = bench.reference() if _is_own(bench, chosen) else bench.run(chosen.args, chosen.kwargs)
            break
        except OutOfTime:
            raise
        except Exception as error:
            last = f"{type(error).__name__}: {str(error).splitlines()[0][:120] if str(error) else ''}"
    else:
        raise NoBatch(f"the model takes no batch of several samples ({last})")
    # Some models take only some sizes: a batch of one often is one of them.
    for smaller in dict.fromkeys((chosen.size - 1 if chosen.size > 2 else chosen.size + 1, 1)):
        other = chosen.resized(smaller)
        try:
            second = bench.run(other.args, other.kwargs)
        except OutOfTime:
            raise
        except Exception:
            continue
        if found := plan(outputs, second, (chosen.size, other.size)):
            return Samples(chosen, outputs, found, smaller != 1)
        if smaller != 1:
            return Samples(chosen, outputs, found, True)
    return Samples(chosen, outputs, fixed_plan(outputs, chosen.size), False)


def _is_own(bench: Bench, batch: Batch) -> bool:
    """Tell whether a batch is what the subject was given, for which the reference stands."""
    own = [leaf for _, leaf in leaves((bench.subject.args, bench.subject.kwargs))]
    held = [leaf for _, leaf in leaves(batch.held)]
    return len(own) == len(held) and all(left is right for left, right in zip(own, held, strict=True))


def neighbours(bench: Bench) -> ProbeResult:
    """Run the probe, once for all that ask."""
    if "neighbours" not in bench.kept:
        bench.kept["neighbours"] = _neighbours(bench)
    result: ProbeResult = bench.kept["neighbours"]
    return result


def _neighbours(bench: Bench) -> ProbeResult:
    try:
        samples = batch_samples(bench)
    except NoBatch as reason:
        return ProbeResult("neighbours", VACUOUS, str(reason))
    leak, result = _swap(bench, samples)
    if leak is None and samples.plan:
        return result
    batch = samples.batch
    second = batch.along(1) if batch.axis == 0 else None
    if second is not None and (not samples.plan or takes_sequence_first(bench.model)):
        try:
            across = samples_of(bench, second)
            other, answer = _swap(bench, across)
        except NoBatch:
            other, answer = leak, result
        if other is None and answer.verdict == PASSED:
            bench.kept["samples"] = across
            return replace(answer, reason="the samples are counted by the second axis")
    if leak is None:
        return result
    if why := one_sample(bench, batch):
        return ProbeResult("neighbours", VACUOUS, why)
    from modellint.runtime.probes.mixing import judge_leak

    return judge_leak(bench, leak)


def _swap(bench: Bench, samples: Samples) -> tuple[Leak | None, ProbeResult]:
    """Try every way; return the leak, or the verdict where there is none."""
    details: dict[str, Any] = {"samples": samples.batch.size, "axis": samples.batch.axis}
    limit = tolerance_of(samples.outputs).limit
    if not samples.plan:
        return None, ProbeResult("neighbours", VACUOUS, "no output grows with the batch", details=details)
    moved, tried, last = False, 0, ""
    within: Leak | None = None
    for style, keep in STYLES if bench.quick else STYLES + MORE_STYLES:
        index = keep % samples.batch.size
        changed = samples.batch.others_changed([index], style)
        try:
            outputs = bench.run(changed.args, changed.kwargs)
        except OutOfTime:
            raise
        except Exception as error:
            last = f"{type(error).__name__}: {str(error).splitlines()[0][:120] if str(error) else ''}"
            continue
        tried += 1
        before, after = samples.of(samples.outputs, index), samples.of(outputs, index)
        found = difference(before, after)
        if (shortened := to_the_shorter(before, after)) and difference(*shortened).relative <= limit:
            details["lengths"] = AS_LONG_AS_THE_LONGEST
        elif not found.exact:
            leak = Leak(samples, style, keep, found)
            if found.relative > limit:
                return leak, ProbeResult("neighbours", FAILED, found.what)
            within = leak if within is None or found.relative > within.found.relative else within
        other = (index + 1) % samples.batch.size
        moved = moved or not difference(samples.of(samples.outputs, other), samples.of(outputs, other)).exact
    if within is not None:
        return within, ProbeResult("neighbours", FAILED, within.found.what)
    if not tried:
        return None, ProbeResult(
            "neighbours", VACUOUS, f"the model refuses changed neighbours ({last})", details=details
        )
    if not moved:
        why = "no output of a changed sample moved: the answer does not depend on what was changed"
        return None, ProbeResult("neighbours", VACUOUS, why, details=details)
    why = details.get("lengths", "")
    return None, ProbeResult("neighbours", PASSED, why, "", 0.0, 0.0, "exact", details=details)
