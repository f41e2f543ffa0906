"""ML701: the same input twice. Neither seeds nor buffers are put back in between: that is the question."""

from __future__ import annotations

from collections.abc import Callable

import torch

from modellint.runtime.capture.state import preserved
from modellint.runtime.probes.bench import Bench
from modellint.runtime.probes.compare import difference, tolerance
from modellint.runtime.probes.drift import Parting, part
from modellint.runtime.probes.result import FAILED, PASSED, VACUOUS, ProbeResult
from modellint.runtime.probes.tape import Tape
from modellint.runtime.probes.tree import leaves


def repeat(bench: Bench) -> ProbeResult:
    """Run the probe."""
    with preserved(bench.model, copies=True):
        first = bench.kept["reference"] = bench.step()
        second = bench.step()
        found = difference(first, second)
        warm = not found.exact and difference(second, bench.step()).exact
    values = [leaf for _, leaf in leaves(first) if isinstance(leaf, torch.Tensor)]
    if not values and not any(isinstance(leaf, (int, float)) for _, leaf in leaves(first)):
        return ProbeResult("repeat", VACUOUS, "the forward returns nothing that could be compared")
    limit = tolerance(values)
    if found.exact:
        return ProbeResult("repeat", PASSED, metric=0.0, tolerance=0.0, tolerance_from="exact")
    parting = _part(bench)
    if found.relative <= limit.limit and not any(culprit.stale for culprit in parting.culprits):
        return ProbeResult(
            "repeat",
            PASSED,
            "not bit for bit, within tolerance",
            "reduction order",
            found.relative,
            limit.limit,
            limit.origin,
        )
    cause = "the first call differs from all others" if warm else "the call changes what the next one does"
    return ProbeResult(
        "repeat",
        FAILED,
        found.what,
        cause,
        found.relative,
        limit.limit,
        limit.origin,
        culprits=parting.culprits,
        layers=parting.layers,
        details={"output": found.where},
    )


def _part(bench: Bench) -> Parting:
    def pair(reference: Tape, other: Callable[[], Tape]) -> bool:
        with preserved(bench.model, copies=True):
            first = bench.step(tape=reference)
            return not difference(first, bench.step(tape=other())).exact

    return part(bench, pair, 0.0)
