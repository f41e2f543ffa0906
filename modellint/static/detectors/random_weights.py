"""Inference with a model, or with a layer in it, that nothing in sight ever loaded or trained."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.believed import is_believed, is_meant_random, leaves_weights_random
from modellint.static.context import FileContext, Finding
from modellint.static.evidence import wrong_call
from modellint.static.flow.events import FORWARD, Event, Snapshot
from modellint.static.flow.newlayers import WEIGHTS_IN_PARTS, new_layer
from modellint.static.flow.values import RANDOM, UNKNOWN, Site
from modellint.static.merge import merged
from modellint.static.project import ClassInfo
from modellint.static.sites import Place, called_from, places

_PURE = frozenset({RANDOM})


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report inference forwards of models whose weights are still those of the initialisation.

    The detector's option `constructors`: classes of libraries, as patterns, whose constructor leaves weights random.
    """
    constructors: list[str] = rule.rule.detector_options["constructors"]
    yield from merged(found for place in places(context, FORWARD) for found in _judge(context, place, constructors))


def _judge(context: FileContext, place: Place, constructors: list[str]) -> Iterator[tuple[object, Finding]]:
    bad: list[tuple[Event, Snapshot]] = []
    good: list[Event] = []
    called = {step.callee for event in place.events for step in event.key.chain}
    for event in place.events:
        snapshot = event.snapshots[0]
        if all(_is_random(s) for s in event.snapshots):
            if is_believed(context, event) and _holds_random_weights(context, event, snapshot, constructors):
                bad.append((event, snapshot))
            else:
                good.append(event)
        elif event.root not in called or any(s.obj.weights != frozenset({UNKNOWN}) for s in event.snapshots):
            good.append(event)
    for event, snapshot in bad:
        site = place.site
        if good:
            call = wrong_call(event, good)
            if call is None:
                continue  # what sets it apart is not in sight
            site = call.site
        yield (event.function, snapshot.obj.born), _finding(event, snapshot, site)


def _is_random(snapshot: Snapshot) -> bool:
    obj = snapshot.obj
    untouched = obj.weights == _PURE and (not obj.touched or WEIGHTS_IN_PARTS in obj.attrs)
    return obj.born is not None and (untouched or new_layer(obj) is not None)


def _holds_random_weights(context: FileContext, event: Event, snapshot: Snapshot, constructors: list[str]) -> bool:
    """Tell whether the class of the model, or what returned it, is known to make weights and to load none."""
    obj = snapshot.obj
    if isinstance(obj.cls, ClassInfo):
        return leaves_weights_random(context, event, snapshot)
    if is_meant_random(event, snapshot):
        return False
    library = obj.cls or ""
    if context.knowledge.loaders.get(library) is not None:
        return True
    return any(fnmatch.fnmatchcase(library, pattern) for pattern in constructors)


# -- the finding -------------------------------------------------------------------------------------------------


def _finding(event: Event, snapshot: Snapshot, site: Site) -> Finding:
    obj = snapshot.obj
    assert obj.born is not None
    layer = new_layer(obj)
    built, how = (obj.born, obj.how) if layer is None else layer
    related = [(built, "built here, with random weights"), (event.site, "the forward")]
    related += map(called_from, reversed(event.key.chain))
    surest = isinstance(obj.cls, str) and event.root.cls is None
    confidence = Confidence.CERTAIN if surest else Confidence.LIKELY
    return Finding(
        site,
        {"model": event.text, "origin": how, "line": built.line_seen_from(site.path)},
        confidence,
        related=tuple(related),
    )
