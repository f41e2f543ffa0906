"""What is certain of a model when it runs: its weights, its mode, and whether autograd records."""

from __future__ import annotations

from modellint.static.flow.events import Event, Snapshot
from modellint.static.flow.modes import GRADIENTS_ASKED
from modellint.static.flow.values import ENTRY, EVAL, LOADED, MIXED, ON, TRAIN, Site, kinds


def has_loaded_weights(snapshot: Snapshot) -> bool:
    """Tell whether weights were loaded into the model for certain."""
    return snapshot.obj.weights == frozenset({LOADED})


def in_train(snapshot: Snapshot) -> bool:
    """Tell whether the model, or a part of it that depends on the mode, was in training mode for certain."""
    return bool(snapshot.modes) and kinds(snapshot.modes) <= {TRAIN, MIXED}


def in_eval(snapshot: Snapshot) -> bool:
    """Tell whether the model was in evaluation mode for certain."""
    return kinds(snapshot.modes) == {EVAL}


def open_mode(snapshot: Snapshot) -> bool:
    """Tell whether the mode is what the callers left."""
    return kinds(snapshot.modes) == {ENTRY}


def records(snapshot: Snapshot) -> bool:
    """Tell whether autograd records, as far as the function and its callers in sight say."""
    return snapshot.grad.state in (ON, ENTRY)


def gradients_asked(event: Event, snapshot: Snapshot) -> Site | None:
    """Return where `requires_grad_()` was called on a model that runs under autograd and is trained nowhere."""
    asked = snapshot.obj.attrs.get(GRADIENTS_ASKED)
    if asked is None or not asked.consts or len(asked.consts) > 1 or not records(snapshot) or event.model_trained:
        return None
    site: Site = next(iter(asked.consts))
    return site


def put_into_training(snapshot: Snapshot) -> bool:
    """Tell whether the author wrote `train()` for this very model."""
    return all(fact.by_train for fact in snapshot.modes)
