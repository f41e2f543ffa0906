"""What a base class leaves to the classes that inherit from it: methods, and attributes that its own methods run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from modellint.static.flow.startup import assigned_to_self, methods_of
from modellint.static.flow.values import NONE, Value
from modellint.static.flow.vocabulary import MODEL_NAME
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.facts import is_left_to_heirs


def leaves_open(base: ClassInfo | None, heir: ClassInfo) -> bool:
    """Tell whether an instance of `base` does nothing: it lacks a method, or a model, that `heir` has."""
    if base is None:
        return False
    if any(is_left_to_heirs(base.methods[name]) for name in base.methods.keys() & heir.methods):
        return True
    empty = _assigned(base, empty=True) - _assigned(base)
    return any(MODEL_NAME.match(name) for name in empty & _assigned(heir))


def _assigned(cls: ClassInfo, empty: bool = False) -> set[str]:
    return {name for method in cls.methods.values() for name in assigned_to_self(method, empty)}


def runs_what_is_filled(cls: ClassInfo, method: FunctionInfo, family: Iterable[ClassInfo]) -> bool:
    """Tell whether an inherited method calls an attribute that `cls` fills, itself or by way of other inherited ones.

    Filled is what a method of `cls` assigns, or an inherited constructor with what such a method returns.
    """
    methods = {m.name: m for m in methods_of(family)}
    filled = _assigned(cls)
    init = methods.get("__init__")
    if init is not None and init.cls is not cls and not init.callees.isdisjoint(cls.methods):
        filled |= assigned_to_self(init)
    called: set[str] = set()
    queue = [method]
    while queue:
        fresh = queue.pop().callees - called
        called |= fresh
        queue += [other for name in fresh if (other := methods.get(name)) is not None and other.cls is not cls]
    return not filled.isdisjoint(called)


def left_empty(methods: Iterable[FunctionInfo], attrs: Mapping[str, Value]) -> dict[str, bool]:
    """Return the attributes called like a model that are None in an object, with whether a method of it assigns them.

    Those that one does stay None, too, where what makes the model is out of sight.
    """
    named = sorted(name for name, value in attrs.items() if value == NONE and MODEL_NAME.match(name))
    assigned = {name for method in methods for name in assigned_to_self(method)} if named else set[str]()
    return {name: name in assigned for name in named}
