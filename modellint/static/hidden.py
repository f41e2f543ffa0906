"""What a model is made of may be out of sight."""

from __future__ import annotations

from modellint.static import given
from modellint.static.classes import Classes
from modellint.static.dependence import UNKNOWN
from modellint.static.flow.events import Snapshot
from modellint.static.flow.values import LOADED, Obj
from modellint.static.project import ClassInfo


def hides_children(snapshot: Snapshot, classes: Classes) -> bool:
    """Tell whether a model was built from children out of sight, and never switched.

    They may be in evaluation mode, or hold nothing that depends on one; a model of a library most likely does, and what
    arguments switch on is in sight.
    """
    obj = snapshot.obj
    if obj.depends != UNKNOWN:
        return False
    if isinstance(obj.cls, ClassInfo) and all(_is_built(fact.how) for fact in snapshot.modes):
        built = classes.dependence(obj.cls)
        return LOADED not in obj.weights or not (obj.hints or built.hints or built.options)
    filled = isinstance(obj.cls, str) and obj.cls.startswith("torch.nn.") and not obj.touched
    fresh = all(fact.how == f"{obj.how}()" for fact in snapshot.modes)
    return filled and fresh and obj.weights != frozenset({LOADED})


def is_filled_later(obj: Obj, classes: Classes) -> bool:
    """Tell whether a class of the project is a list of modules, which are put in one by one: theirs is the mode."""
    if not isinstance(obj.cls, ClassInfo) or obj.depends != UNKNOWN:
        return False
    return not given.CONTAINERS.isdisjoint(classes.project.ancestry(obj.cls)[1])


def _is_built(how: str) -> bool:
    """Tell whether a constructor, of the model or of one that it is a part of, put it into training mode."""
    return how.endswith("()") and not how.startswith("train")
