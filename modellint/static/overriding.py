"""A method that takes the place of one of a base class, and leaves out what that one did before it ran the model."""

from __future__ import annotations

import ast

from modellint.static.context import FileContext
from modellint.static.flow.events import Event
from modellint.static.guards import own
from modellint.static.project import FunctionInfo
from modellint.static.project.names import dotted_name


def forgets_eval(event: Event, context: FileContext) -> bool:
    """Tell whether the method of a base class, which this one overrides, calls `eval()` of the same attribute.

    A method of the family puts that attribute into training mode.
    """
    cls, name = event.root.cls, event.root.name
    family = context.project.ancestry(cls)[0] if cls is not None else []
    overridden = next((method for base in family[1:] if (method := base.methods.get(name))), None)
    if overridden is None or not calls_plainly(overridden, f"{event.text}.eval"):
        return False
    return any(calls_plainly(method, f"{event.text}.train") for base in family for method in base.methods.values())


def calls_plainly(method: FunctionInfo, name: str) -> bool:
    """Tell whether a method calls the dotted `name` without arguments: `self.net.eval()`."""
    return any(not call.args and dotted_name(call.func) == name for call in own(method, ast.Call))
