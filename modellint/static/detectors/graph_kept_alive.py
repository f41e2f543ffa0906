"""Results are added up in a loop together with their graphs, and the sum is never differentiated."""

from __future__ import annotations

from collections.abc import Iterator

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.context import FileContext, Finding
from modellint.static.flow.events import ACCUMULATE
from modellint.static.merge import merged
from modellint.static.sites import places


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report the statement that adds up, unless a gradient is computed from the sum or a caller may do so."""
    found = []
    for place in places(context, ACCUMULATE):
        if place.outside or any(event.training for event in place.events):
            continue
        for event in place.events:
            source = event.source
            if source is None or not (source.training or any(s.obj.proven for s in source.snapshots)):
                continue
            if not source.training and {"returned", "passed"} & event.uses:
                continue
            confidence = Confidence.CERTAIN if source.training else Confidence.LIKELY
            found.append(((place.site,), Finding(place.site, {"sum": event.text, "model": source.text}, confidence)))
    yield from merged(found)
