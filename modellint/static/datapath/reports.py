"""Findings about what data meets on its way: one for each place, with where it arrives."""

from __future__ import annotations

from collections.abc import Iterable

from modellint.static.context import Finding
from modellint.static.flow.values import Site


def surest(findings: Iterable[Finding]) -> list[Finding]:
    """Return one finding for each place: the surest, the first of those that are equally sure."""
    best: dict[Site, Finding] = {}
    for finding in findings:
        known = best.get(finding.site)
        if known is None or finding.confidence.rank > known.confidence.rank:
            best[finding.site] = finding
    return list(best.values())


def arrival(site: Site, place: Site, message: str) -> tuple[tuple[Site, str], ...]:
    """Return the related place of a finding at `site`; none where it is on the same row."""
    return () if place.row == site.row else ((place, message),)
