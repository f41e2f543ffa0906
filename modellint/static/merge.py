"""One cause in one scope is one finding: the first place is reported, the others are related to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from modellint.static.context import Finding


def merged(found: Iterable[tuple[object, Finding]]) -> Iterator[Finding]:
    """Yield one finding a cause, with the places of the others among its related ones."""
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
    for cause, finding in first.items():
        rest = sorted({other.site for other in others.get(cause, ())})
        places = tuple((site, "the same here") for site in rest)
        surest = max([finding, *others.get(cause, ())], key=lambda f: f.confidence.rank).confidence
        yield dataclasses.replace(finding, confidence=surest, related=finding.related + places)
