"""Who takes the gradients from the parameters of a model where the flow does not see it: they record nothing then."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modellint.static.context import FileContext
from modellint.static.flow.events import Event
from modellint.static.guards import conditions, own, unnegated
from modellint.static.narrowing import attribute_of
from modellint.static.project import FunctionInfo
from modellint.static.project.callers import MAX_FILES, scopes_mentioning
from modellint.static.purpose import functions_around


def is_frozen_by_an_option(event: Event, context: FileContext) -> bool:
    """Tell whether one method of an object freezes the model that another one runs, unless it is to train.

    `if training: self.optimizer = ...`, and `else: for p in self.actor.parameters(): p.requires_grad = False`.
    """
    cls, me = event.function.cls, event.function.self_name
    if cls is None or me is None or not event.text.startswith(f"{me}."):
        return False
    part = event.text.removeprefix(f"{me}.")
    methods = (method for owner in context.project.ancestry(cls)[0] for method in owner.methods.values())
    return any(_freezes(method, part) for method in methods)


def _freezes(method: FunctionInfo, part: str) -> bool:
    """Tell whether a method freezes all of `self.part` where nothing is to be trained."""
    for loop in own(method, ast.For):
        over = loop.iter.func if isinstance(loop.iter, ast.Call) else None
        if isinstance(over, ast.Attribute) and over.attr == "parameters":
            mine = attribute_of(over.value, method.self_name or "") == part
            without = any(_says_without_training(test, holds) for test, holds in conditions(method, loop))
            thawed = any(_THAWS.search(ast.unparse(node)) for node in own(method, ast.Assign, ast.Expr))
            if mine and without and not thawed and FREEZES.search(ast.unparse(loop.body[0])):
                return True
    return False


def _says_without_training(test: ast.expr, holds: bool) -> bool:
    """Tell whether a condition holds where nothing is to be trained: the `else` of `if training:`."""
    asked, wanted = unnegated(test, holds)
    return not wanted and _TRAINING.search(ast.unparse(asked)) is not None


_TRAINING = re.compile(r"(^|[._])(is_)?train(ing)?$")
_THAWS = re.compile(r"\.requires_grad(_\(\)|_\(True| = True)")
FREEZES = re.compile(r"\.requires_grad(_\(| = )False")
"""How a parameter, or a module, is frozen."""


def is_frozen_by_a_method(event: Event, context: FileContext) -> bool:
    """Tell whether a model out of sight is asked to freeze itself: `model.freeze_all()`, where the project has that."""
    if any(snapshot.obj.cls is not None for snapshot in event.snapshots):
        return False
    model = event.text.partition(".")[0]
    calls = (call for function in functions_around(event) for call in function.calls)
    methods = (call.func for call in calls if isinstance(call.func, ast.Attribute))
    asked = {func.attr for func in methods if _NAMED.match(func.attr) and ast.unparse(func.value) == model}
    return any(_takes_gradients(name, event, context) for name in asked)


def _takes_gradients(name: str, event: Event, context: FileContext) -> bool:
    """Tell whether the project has a method of that name which freezes parameters, by methods beside it perhaps."""
    scopes = scopes_mentioning(context.project, f"def {name}(", event.function.module.path, MAX_FILES)
    methods = (scope for scope in scopes if scope.name == name and scope.cls is not None)
    return any(
        "requires_grad" in step.words or "requires_grad_" in step.words
        for method in methods
        for step in (method, *_beside(method))
    )


def _beside(method: FunctionInfo) -> Iterator[FunctionInfo]:
    """Yield the methods of its class that a method calls, and others of their names."""
    others = method.cls.methods if method.cls is not None else {}
    yield from (others[name] for name in method.callees & others.keys())


_NAMED = re.compile(r"^freeze(_(all|model|param(eter)?s|weights|network|net|\w+_and_\w+))?$")
