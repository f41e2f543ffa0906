"""A model is exported, traced or converted while in training mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence, Severity
from modellint.static.confidence import Case, weighed
from modellint.static.context import FileContext, Finding
from modellint.static.dependence import NO
from modellint.static.evidence import wrong_call
from modellint.static.flow.events import EXPORT, Event
from modellint.static.flow.frames import site_of
from modellint.static.guards import own
from modellint.static.hidden import is_filled_later
from modellint.static.merge import merged
from modellint.static.naming import speaks_of_inference
from modellint.static.purpose import is_test_code
from modellint.static.sites import Place, places
from modellint.static.snapshots import in_eval, in_train, open_mode


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report the exporters named in the detector's option `exporters` when their model is in training mode."""
    exporters = set(rule.rule.detector_options["exporters"])
    trained = {e.key.oid for e in context.flow.events if e.training}
    found = []
    for place in places(context, EXPORT):
        finding = _judge(place, exporters, trained, context)
        if finding is not None:
            found.append(((place.site,), finding))
    yield from merged(found)


def _judge(place: Place, exporters: set[str], trained: set[int], context: FileContext) -> Finding | None:
    events = [
        e
        for e in place.events
        if e.key.detail in exporters and not is_test_code(e) and "add_graph" not in e.function.callees
        if not _is_to_be_trained(e)
    ]  # a graph drawn for a log is not shipped
    bad = [(e, s) for e in events for s in e.snapshots if in_train(s) and not is_filled_later(s.obj, context.classes)]
    good = [e for e in events if all(in_eval(s) for s in e.snapshots)]
    if not bad:
        if any(open_mode(s) for e in events for s in e.snapshots):
            event = events[0]
            return Finding(place.site, {"exporter": event.text}, Confidence.POSSIBLE)
        return None
    event, snapshot = bad[0]
    site = place.site
    if good:
        call = wrong_call(event, good)
        if call is None:
            return None
        site = call.site
    if event.key.detail == "torch.jit.script" and (event.key.oid in trained or "save" not in event.function.callees):
        return None  # scripted for speed: the flag can still be changed
    related = tuple((f.site, f"in training mode since {f.how}") for f in snapshot.modes if f.site is not None)
    severity = Severity.INFO if snapshot.obj.depends == NO else None
    confidence = weighed("ML109", Confidence.CERTAIN, Case(event, snapshot, context))
    return Finding(site, {"exporter": event.text}, confidence, severity, related=related)


def _is_to_be_trained(event: Event) -> bool:
    """Tell whether what is traced is kept for training: its name says so, or an optimizer gets it, or `train()`."""
    names = [
        ast.unparse(target)
        for node in own(event.function, ast.Assign)
        if site_of(event.function.module, node.value) == event.site
        for target in node.targets
    ]
    row = event.site.row
    later = [call.func for call in event.function.calls_of("train", "parameters") if call.lineno > row]
    trained = {ast.unparse(func.value) for func in later if isinstance(func, ast.Attribute)}
    return any(speaks_of_inference(name) is False or name in trained for name in names)
