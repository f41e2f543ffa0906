"""One cause in one scope is one finding, and so is one place: the others are related to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from modellint.diagnostic import Confidence, Severity
from modellint.static.context import Finding
from modellint.static.flow.values import Site


def merged(found: Iterable[tuple[object, Finding]]) -> Iterator[Finding]:
    """Yield one finding a cause, with the places of the others among its related ones.

    It stands at the first place that is more than possible. Of several at one place the surest counts, and a mere
    remark less than all others: which is seen first depends on the files that were analysed before.
    """
    causes: dict[object, dict[Site, Finding]] = {}
    for cause, finding in found:
        places = causes.setdefault(cause, {})
        known = places.get(finding.site)
        places[finding.site] = finding if known is None else _joined(known, finding)
    reported: dict[Site, Finding] = {}
    for places in causes.values():
        shown = [finding for finding in places.values() if finding.confidence is not Confidence.POSSIBLE]
        finding = min(shown or places.values(), key=lambda f: f.site)
        related = tuple((site, "the same here") for site in sorted(places.keys() - {finding.site}))
        surest = max(places.values(), key=lambda f: f.confidence.rank).confidence
        finding = dataclasses.replace(finding, confidence=surest, related=finding.related + related)
        known = reported.get(finding.site)  # another model at the same place, or another caller of it
        reported[finding.site] = finding if known is None else _joined(known, finding)
    yield from reported.values()


def _joined(known: Finding, other: Finding) -> Finding:
    """Return the stronger of two findings at one place, with what is related to either: one call leads to both."""
    first, second = (other, known) if _strength(other) > _strength(known) else (known, other)
    places = {site for site, _ in first.related}
    more = tuple((site, note) for site, note in second.related if site not in places)
    return dataclasses.replace(first, related=first.related + more)


def _strength(finding: Finding) -> tuple[bool, bool, int]:
    """Return what decides which of several findings at one place is told: one that is shown, and no mere remark."""
    confidence = finding.confidence
    return confidence is not Confidence.POSSIBLE, finding.severity is not Severity.INFO, confidence.rank
