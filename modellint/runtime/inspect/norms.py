"""ML602: a batch norm that normalises with the statistics of the batch at hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from modellint.runtime.inspect.finding import Finding, modules_by_path, of_op
from modellint.runtime.trace import INPUT, ModuleFact, Op, Trace


def batch_statistics(trace: Trace, options: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield every batch norm that looks at the batch and whose operand depends on the model's inputs.

    Standardised weights (an operand that no input reaches) and instance norms are none.
    """
    modules = modules_by_path(trace)
    for op in trace.ops:
        if "batch_norm" not in op.base or op.within is not None or not op.args.get("training"):
            continue
        fact = modules.get(op.module or "")
        if not op.taint & INPUT or _one_sample_at_a_time(trace, op, fact):
            continue
        yield of_op(trace, op, modules, {"why": _why(fact)})


def _one_sample_at_a_time(trace: Trace, op: Op, fact: ModuleFact | None) -> bool:
    """Tell whether the samples were folded into the channels: an instance norm written by hand."""
    by_hand = fact is None or "track_running_stats" not in fact.settings
    return by_hand and bool(trace.batch and trace.batch > 1 and op.shape and op.shape[0] == 1)


def _why(fact: ModuleFact | None) -> str:
    if fact is None or "track_running_stats" not in fact.settings:
        return "called with training=True"
    if fact.training:
        return "the module is in training mode"
    return "track_running_stats=False: there are no running statistics to use"
