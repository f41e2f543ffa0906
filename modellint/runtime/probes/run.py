"""Run the probes that were asked for, one after the other, within the budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from torch import nn

from modellint.runtime.capture.ladder import MODES, is_memory, shortened
from modellint.runtime.capture.subject import Subject
from modellint.runtime.probes.alone import alone
from modellint.runtime.probes.backends import BACKENDS, compare_backend
from modellint.runtime.probes.bench import Bench, OutOfTime
from modellint.runtime.probes.compare import difference
from modellint.runtime.probes.layout import layout
from modellint.runtime.probes.modes import from_evaluation
from modellint.runtime.probes.neighbours import neighbours
from modellint.runtime.probes.padding import padding
from modellint.runtime.probes.reload import reload
from modellint.runtime.probes.repeat import repeat
from modellint.runtime.probes.result import FAILED, SKIPPED, VACUOUS, ProbeResult

Probe = Callable[[Bench], ProbeResult]
_SHARE = 0.1
"""How much of a failure may come from the unrest of the model itself."""
_RUNNERS: Mapping[str, Probe] = {
    "repeat": repeat,
    "neighbours": neighbours,
    "alone": alone,
    "reload": reload,
    "layout": layout,
    "padding": padding,
    **{name: partial(compare_backend, name=name, prepare=prepare) for name, prepare in BACKENDS.items()},
}


def run_probes(
    subject: Subject,
    names: Sequence[str],
    mode: str,
    budget: float | None,
    starting: Callable[[str], Any],
    again: Callable[[], nn.Module],
    *,
    quick: bool,
) -> Iterator[ProbeResult]:
    """Yield the result of each probe; `starting` is told the name of the one that begins.

    `mode` is the gradient mode under which the trace ran; `budget` is in seconds. `again` makes the model once more.
    """
    deadline = None if budget is None else time.monotonic() + budget
    bench = Bench(subject, MODES[mode], deadline, again=again, quick=quick)
    for name in names:
        starting(name)
        forwards, started = bench.forwards, time.monotonic()
        result = _run(bench, name, budget)
        if name == names[0]:
            result = replace(result, details={**result.details, **from_evaluation(bench)})
        yield replace(result, forwards=bench.forwards - forwards, seconds=time.monotonic() - started)


def _run(bench: Bench, name: str, budget: float | None) -> ProbeResult:
    try:
        bench.check()
        result = _RUNNERS[name](bench)
        return result if result.verdict != FAILED or name == "repeat" else _unless_restless(bench, result)
    except OutOfTime:
        return ProbeResult(name, SKIPPED, f"the budget of {budget:g} s is spent")
    except Exception as error:
        what = "ran out of memory" if is_memory(error) else f"the model raised {shortened(error)}"
        return ProbeResult(name, SKIPPED, what)


def _unless_restless(bench: Bench, result: ProbeResult) -> ProbeResult:
    """Return a failure, unless the model does not even give one answer twice to one input, from one state.

    What it remembers then lies where it cannot be put back (a global, an iterator, a generator of its own), and any two
    runs differ.
    """
    try:
        # Twice, since some state comes round again.
        unrest = [difference(bench.reference(), bench.run()) for _ in range(2)]
    except OutOfTime:
        return result
    worst = max(found.relative for found in unrest)
    if worst == 0.0 or (result.metric is not None and worst < _SHARE * result.metric):
        return result
    why = "the same input gives another answer each time, also from the same state: a difference proves nothing"
    return ProbeResult(result.probe, VACUOUS, why)
