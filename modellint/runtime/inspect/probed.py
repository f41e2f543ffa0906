"""ML607 and ML7xx: what the probes measured, put where the difference comes into being."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from modellint.runtime.inspect.finding import Finding, modules_by_path
from modellint.runtime.probes.names import PROBES
from modellint.runtime.probes.result import FAILED, Culprit, ProbeResult
from modellint.runtime.trace import Trace

_RANDOM = ("ML601", "ML603")
_CAUSES: Mapping[str, tuple[str, ...]] = {
    "neighbours": ("ML602",),
    "repeat": _RANDOM,
    "alone": ("ML607", "ML602", *_RANDOM),
    "reload": ("ML606", "ML603"),
    "layout": _RANDOM,
}
"""Codes of the findings that can be behind a failed probe."""


def failed_probe(trace: Trace, options: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding for every culprit of the probe that the rule names (`probe`), or one without a place."""
    wanted = options["probe"]
    names = [wanted] if isinstance(wanted, str) else wanted
    for result in trace.probes:
        if result.probe in names and result.verdict == FAILED:
            for culprit in result.culprits or (None,):
                yield replace(
                    _finding(trace, result, culprit),
                    explained_by=_causes(result, culprit),
                    explained_here=_bound(result, culprit),
                )


def _causes(result: ProbeResult, culprit: Culprit | None) -> tuple[str, ...]:
    # What changes between two calls because somebody stored it is no random draw.
    if result.probe == "repeat" and culprit is not None and culprit.stale:
        return ()
    return _CAUSES.get(result.probe, _RANDOM)


def _bound(result: ProbeResult, culprit: Culprit | None) -> bool:
    """Tell whether the cause has to stand where the difference begins."""
    return result.probe in ("neighbours", "reload") and culprit is not None


def _finding(trace: Trace, result: ProbeResult, culprit: Culprit | None) -> Finding:
    evidence: dict[str, Any] = {"probe": result.probe, "cause": result.cause, "difference": result.metric}
    if result.tolerance is not None:
        evidence["tolerance"] = result.tolerance_from or result.tolerance
    evidence |= {name: value for name, value in result.details.items() if value not in ("", None)}
    evidence["forwards"] = result.forwards
    fact = modules_by_path(trace).get(culprit.module or "") if culprit is not None else None
    words = {"reason": result.reason, "cause": result.cause, "probe": PROBES[result.probe].about}
    if culprit is None:
        return Finding(None, None, None, None, {**words, "where": ""}, evidence)
    if culprit.why:
        evidence["why"] = culprit.why
    if culprit.own:
        evidence |= {"error in": culprit.inherited, "error out": culprit.own}
    parts = culprit.op.split(".")
    words["op"] = parts[1] if parts[0] in ("aten", "prims") and len(parts) > 2 else culprit.op
    site = trace.site(culprit.site) or (trace.site(fact.site) if fact is not None else None)
    return Finding(site, culprit.module, fact.type if fact else None, culprit.op, words, evidence)
