"""Training goes on after an evaluation that left the model in evaluation mode."""

from __future__ import annotations

from collections.abc import Iterator

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.context import FileContext, Finding
from modellint.static.flow.events import FORWARD, Event
from modellint.static.flow.values import ENTRY, EVAL, TRAIN, ModeFact, kinds
from modellint.static.merge import merged
from modellint.static.sites import places


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report training forwards that an evaluation's eval() reaches, where the same model also trains in training mode."""
    evaluated = {
        (event.key.oid, fact)
        for event in context.flow.events
        if event.key.kind == FORWARD and not event.training
        for snapshot in event.snapshots
        for fact in snapshot.modes
        if _left_in_eval(fact)
    }
    found = []
    for place in places(context, FORWARD):
        for event in place.events:
            facts = _leaked(event, evaluated)
            if not event.training or not facts:
                continue
            pure = any(kinds(s.modes) == {EVAL} for s in event.snapshots)
            fact = min(facts, key=lambda f: f.site or event.site)
            assert fact.site is not None
            finding = Finding(
                place.site,
                {"model": event.text, "line": fact.site.row},
                Confidence.CERTAIN if pure and not event.key.chain else Confidence.LIKELY,
                related=((fact.site, "put into evaluation mode here, and never back"),),
            )
            found.append(((event.function, fact), finding))
    yield from merged(found)


def _left_in_eval(fact: ModeFact) -> bool:
    return fact.mode == EVAL and fact.site is not None


def _leaked(event: Event, evaluated: set[tuple[int, ModeFact]]) -> list[ModeFact]:
    """Return the eval() calls whose effect arrives at a training forward that also runs in another mode."""
    every = {fact for snapshot in event.snapshots for fact in snapshot.modes}
    if not {fact.mode for fact in every} & {TRAIN, ENTRY}:
        return []  # always in evaluation mode: frozen on purpose
    return [fact for fact in every if _left_in_eval(fact) and (event.key.oid, fact) in evaluated]
