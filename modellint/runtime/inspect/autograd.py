"""ML604: autograd switched on by the forward itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from modellint.runtime.inspect.finding import Finding, modules_by_path, of_op
from modellint.runtime.trace import Trace

_FROM_OFF = "difference from autograd off"


def autograd_recorded(trace: Trace, options: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the first recorded operation of each region that the forward switched on, with what it keeps alive."""
    modules = modules_by_path(trace)
    seen: dict[int, Finding] = {}
    kept: dict[int, int] = {}
    for op in trace.ops:
        if not op.grad:
            continue
        kept[op.grad] = kept.get(op.grad, 0) + op.bytes
        if op.grad not in seen and op.within is None:
            seen[op.grad] = of_op(trace, op, modules, {})
    measured = {} if trace.graph_difference is None else {_FROM_OFF: trace.graph_difference}
    for region, finding in seen.items():
        size = kept[region] if trace.graph_bytes is None or len(seen) > 1 else trace.graph_bytes
        words = {**finding.words, "bytes": _human(size)}
        yield replace(finding, words=words, evidence={**finding.evidence, "graph_bytes": size, **measured})


def _human(size: int) -> str:
    value, unit = float(size), "bytes"
    for larger in ("kB", "MB", "GB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.3g} {unit}"
