"""ML609: which rung of the capture ladder answered. ML003: the target failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from modellint.runtime.inspect.finding import Finding
from modellint.runtime.trace import Site, Trace

_RUNGS = {
    "meta": "a forward without data (on the meta device) answered instead of a real one",
    "export": "an exported graph answered instead of a recorded forward",
    "fx": "a symbolic graph answered instead of a recorded forward",
    "walk": "only the modules were read, no forward was followed",
}


def untraceable(trace: Trace, options: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield one finding where no forward was recorded: what answered, and why nothing better did.

    A forward that raised with the user's own input is a finding of its own, which says the same and more.
    """
    level = trace.level()
    if level not in _RUNGS or trace.failure is not None:
        return
    reasons = [f"{step.name}: {step.reason}" for step in trace.levels if not step.answered and step.reason]
    advice = f"; try --input {trace.suggestion}" if trace.suggestion else ""
    yield Finding(
        Site(trace.home),
        None,
        None,
        None,
        {"answer": _RUNGS.get(level, level), "reason": "; ".join(reasons) + advice},
        {"level": level, "signature": trace.signature, "reasons": reasons},
    )


def target_failed(trace: Trace, options: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield one finding where the forward raised with the inputs that the user gave."""
    failure = trace.failure
    if failure is None:
        return
    site = Site(failure.frame, failure.project) if failure.frame is not None else Site(trace.home)
    yield Finding(site, None, None, None, {"reason": failure.message}, {"kind": failure.kind})
