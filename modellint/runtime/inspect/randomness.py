"""ML603: whatever makes one forward differ from the next and is not dropout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from modellint.diagnostic import Confidence
from modellint.runtime.inspect.dropout import is_drop_path, is_dropout
from modellint.runtime.inspect.finding import Finding, modules_by_path, of_op
from modellint.runtime.nondeterminism import find
from modellint.runtime.trace import Trace


def random_draws(trace: Trace, options: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield draws that come again in every forward and differ each time.

    Silent for draws that the model seeds itself, that only its first forward makes (lazily created buffers), and
    that initialise a module built in the forward (another rule names that cause).
    """
    modules = modules_by_path(trace)
    for op in trace.outermost():
        if not op.live or is_dropout(op) or op.in_init:
            continue
        if op.reseeded or not op.repeats or is_drop_path(trace, op, modules, options):
            continue
        finding = of_op(trace, op, modules, {"what": f"{op.base} draws random numbers"})
        if not op.reaches:
            yield replace(finding, confidence=Confidence.POSSIBLE)
        else:
            yield finding
    device = options.get("deploy-device") or ("cuda" if trace.device.startswith("cuda") else None)
    if device is not None:
        yield from _nondeterministic_on(trace, device)
    for draw in trace.hidden_draws:
        yield Finding(
            trace.site(draw.site),
            None,
            None,
            draw.source,
            {"op": draw.source, "what": f"the random state of {draw.source} moves"},
            {"op": draw.source, "level": "record"},
        )


def _nondeterministic_on(trace: Trace, device: str) -> Iterator[Finding]:
    """Yield operations that torch documents as nondeterministic on a kind of device.

    Without the option, the CPU is left out: there it takes several threads and equal indices.
    """
    modules = modules_by_path(trace)
    for op in trace.ops:
        entry = find(op, device) if op.level == "record" else None
        if entry is not None:
            condition = f" ({entry.condition})" if entry.condition else ""
            words = {"what": f"{entry.op}{condition} is not deterministic on {device}"}
            yield replace(of_op(trace, op, modules, words), confidence=Confidence.LIKELY)
