"""One cause in one scope is one finding, and so is one place: the others are related to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from modellint.static.context import Finding
from modellint.static.flow.values import Site


def merged(found: Iterable[tuple[object, Finding]]) -> Iterator[Finding]:
    """Yield one finding a cause, with the places of the others among its related ones.

    Of several at one place the surest counts: which is seen first depends on the files that were analysed before.
    """
    first: dict[object, Finding] = {}
    others: dict[object, list[Finding]] = {}
    for cause, finding in found:
        known = first.get(cause)
        if known is None or finding.site < known.site:
            if known is not None:
                others.setdefault(cause, []).append(known)
            first[cause] = finding
        elif finding.site != known.site:
            others.setdefault(cause, []).append(finding)
        elif finding.confidence.rank > known.confidence.rank:
            first[cause] = finding
    reported: dict[Site, Finding] = {}
    for cause, finding in first.items():
        rest = sorted({other.site for other in others.get(cause, ())})
        places = tuple((site, "the same here") for site in rest)
        surest = max([finding, *others.get(cause, ())], key=lambda f: f.confidence.rank).confidence
        known = reported.get(finding.site)  # another model at the same place, or another caller of it
        if known is None or surest.rank > known.confidence.rank:
            reported[finding.site] = dataclasses.replace(finding, confidence=surest, related=finding.related + places)
    yield from reported.values()
