"""Autograd is switched on around an inference forward whose result never reaches a gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.context import FileContext, Finding
from modellint.static.evidence import PREDICTS, is_no_model
from modellint.static.flow.events import FORWARD, GRAPH_MADE, Event, Snapshot
from modellint.static.flow.values import OFF, ON, Site
from modellint.static.merge import merged
from modellint.static.purpose import is_test_code, named_for_inference
from modellint.static.sites import Place, places
from modellint.static.snapshots import gradients_asked, in_eval


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report the switch: `enable_grad`, `set_grad_enabled(True)`, `inference_mode(False)`, `requires_grad_()`."""
    listed = [(place, event) for place in places(context, FORWARD) for event in place.events]
    needed = {s.grad.site for _, event in listed if event.training or event.wants_gradient for s in event.snapshots}
    # a loss that is given what a tensor has led to may differentiate with respect to it
    needed |= {leaf for _, event in listed if event.training or _is_of_a_loss(event) for leaf in event.leaves}
    found = []
    for _, event in listed:
        if is_test_code(event):
            continue
        for snapshot in event.snapshots:
            switch = _switch(event, snapshot)
            if switch is None or not needed.isdisjoint({switch, *event.leaves}):
                continue
            if _is_for_the_whole_file(switch, context):
                continue
            confidence = Confidence.CERTAIN if not event.leaves else Confidence.LIKELY
            related = ((event.site, "the forward"),)
            found.append(((switch,), Finding(switch, {"model": event.text}, confidence, related=related)))
    for place in places(context, GRAPH_MADE):
        if not place.outside and _is_graph_unused(place):
            message = (
                f"a graph of the gradient of `{place.events[0].text}` is built here, but nothing differentiates it"
            )
            found.append(((place.site,), Finding(place.site, confidence=Confidence.LIKELY, message=message)))
    yield from merged(found)


def _is_of_a_loss(event: Event) -> bool:
    return all(is_no_model(event, snapshot) for snapshot in event.snapshots)


def _is_for_the_whole_file(switch: Site, context: FileContext) -> bool:
    """Tell whether a switch stands alone at the top of a file that computes gradients somewhere: it is for these."""
    alone = {context.site(s.value) for s in context.module.body.body if isinstance(s, ast.Expr)}
    return switch in alone and "backward" in context.callees


def _is_graph_unused(place: Place) -> bool:
    """Tell whether a gradient computed with `create_graph=True` ends as a number or a prediction of an evaluation."""
    return all(
        not event.training
        and not is_test_code(event)
        and not PREDICTS.isdisjoint(event.uses)
        and {"returned", "passed"}.isdisjoint(event.uses)
        and all(in_eval(snapshot) for snapshot in event.snapshots)
        for event in place.events
    )


def _switch(event: Event, snapshot: Snapshot) -> Site | None:
    """Return what switched autograd on for a forward that is inference; None where a gradient may be wanted."""
    predicts = not PREDICTS.isdisjoint(event.uses)
    named = named_for_inference(event)
    if not (in_eval(snapshot) and predicts) and not (named and (predicts or "returned" in event.uses)):
        return None
    if event.leaves:
        if snapshot.grad.state == OFF:
            return None  # what is marked there marks nothing
        if {"returned with its graph", "passed"} & event.uses or not predicts or event.kept or len(event.leaves) > 1:
            return None
        return next(iter(event.leaves))
    if snapshot.grad.state == ON and snapshot.grad.site is not None:
        return None if "passed with its graph" in event.uses else snapshot.grad.site
    return gradients_asked(event, snapshot) if in_eval(snapshot) and predicts else None
