"""Whether an event leaves to callers what is judged: the mode, or whether autograd is on."""

from __future__ import annotations

from modellint.static.flow.events import Event
from modellint.static.flow.frames import holds
from modellint.static.flow.values import ENTRY, TRAIN, UNKNOWN_MODES, kinds


def is_open(event: Event) -> bool:
    """Tell whether what happened depends on what the callers of the analysed function left."""
    return any(ENTRY in kinds(s.modes) for s in event.snapshots)


def left_to_callers(event: Event) -> bool:
    """Tell whether the mode or autograd is what the callers of the analysed function left.

    Of a model whose class trains it, and of whose making nothing is known, they may show what mode that left it in.
    """
    if is_open(event) or any(s.grad.state == ENTRY for s in event.snapshots):
        return True
    trained = event.root.cls is not None and event.model_trained
    return trained and any(s.modes == UNKNOWN_MODES for s in event.snapshots)


def left_by_constructor(event: Event) -> bool:
    """Tell whether a method runs a model in the training mode in which another one of its class made it."""
    if event.root.cls is None:
        return False
    facts = [fact for s in event.snapshots for fact in s.modes]
    return all(fact.mode == TRAIN and fact.site is not None and not holds(event.root, fact.site) for fact in facts)


def asks_callers(event: Event) -> bool:
    """Tell whether callers are looked for, as they may know more of what happened than the function itself shows."""
    return not event.training and (left_to_callers(event) or left_by_constructor(event))
