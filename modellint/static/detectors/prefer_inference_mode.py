"""`no_grad` around inference from which nothing goes back into training."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.context import FileContext, Finding
from modellint.static.evidence import is_inference
from modellint.static.flow.events import FORWARD, Event
from modellint.static.flow.values import Site
from modellint.static.project.trees import walk
from modellint.static.sites import places

_TRAINS = frozenset({"backward", "requires_grad", "requires_grad_", "enable_grad", "train"})


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report the switches named in the detector's option `switches` where every forward under them is inference.

    Silent in files that train: a tensor made in inference mode cannot enter a graph later.
    """
    switches = set(rule.rule.detector_options["switches"])
    if any(not _TRAINS.isdisjoint(scope.words) for scope in context.scopes):
        return
    found: dict[Site, list[tuple[Event, bool]]] = defaultdict(list)
    for place in places(context, FORWARD):
        for event in place.events:
            for snapshot in event.snapshots:
                site = snapshot.grad.site
                if site is not None:
                    found[site].append((event, is_inference(event, snapshot) and not event.feeds_training))
    written = {context.site(node): node for node in walk(context.module.tree) if isinstance(node, ast.expr)}
    for site, events in sorted(found.items()):
        node = written.get(site)
        name = node.func if isinstance(node, ast.Call) else node
        if name is None or not all(safe for _, safe in events):
            continue
        if context.qualified(events[0][0].function, name) in switches:
            yield Finding(site, {"written": ast.unparse(name)}, Confidence.LIKELY)
