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

    One of the family puts that attribute into training mode, and this one leaves it as it is: no call of `super()`.
    """
    root = event.root
    attribute = event.text.partition(".")[2]
    if root.cls is None or event.function is not root or event.text != f"{root.self_name}.{attribute}":
        return False
    if "super" in root.callees or context.classes.may_be_module(root.cls):
        return False
    family, _ = context.project.ancestry(root.cls)
    overridden = next((base.methods[root.name] for base in family[1:] if root.name in base.methods), None)
    if overridden is None or not _calls(overridden, f"{attribute}.eval") or not _runs(overridden, attribute):
        return False
    return any(_calls(method, f"{attribute}.train") for base in family for method in base.methods.values())


def _calls(method: FunctionInfo, name: str) -> bool:
    wanted = f"{method.self_name}.{name}"
    return any(not call.args and dotted_name(call.func) == wanted for call in own(method, ast.Call))


def _runs(method: FunctionInfo, attribute: str) -> bool:
    wanted = f"{method.self_name}.{attribute}"
    return any(dotted_name(call.func) == wanted for call in own(method, ast.Call))
