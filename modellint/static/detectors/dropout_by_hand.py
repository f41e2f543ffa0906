"""Functions and modules of the project that drop at random and are not told, or do not ask, the mode."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modellint.static.context import FileContext
from modellint.static.detectors.forward_draws import (
    THROWN,
    classes_that_answer,
    guarded,
    is_dropout,
    run_by_forward,
)
from modellint.static.guards import MODE_NAME, own, speaks_of_mode
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import parameters

_DROPS = re.compile(r"(^|_)(drop_?out|drop_?path|drop_?connect|drop_?block|stochastic_depth)(_?\dd)?(_|$)", re.I)


def drops_by_hand(context: FileContext, scope: FunctionInfo, call: ast.Call, name: str) -> bool:
    """Tell whether a forward calls a function, named for dropout, that draws and cannot know the mode.

    `sparse_dropout(x, rate)`, written with `torch.rand`, is one; `drop_path(x, rate, training)` is told the mode.
    """
    if _DROPS.search(name) is None or scope.cls is None or not context.classes.is_module(scope.cls):
        return False
    symbol = context.project.resolve_in(scope, call.func)
    dropper = symbol.target if symbol is not None else None
    if not isinstance(dropper, FunctionInfo) or dropper.cls is not None or THROWN.isdisjoint(dropper.callees):
        return False
    if any(MODE_NAME.search(argument.arg) for argument, _ in parameters(dropper)):
        return False
    if any(speaks_of_mode(dropper, test) for test in own(dropper, ast.Attribute)):
        return False
    return scope in run_by_forward(scope.cls) and not guarded(scope, call)


def dropouts_always_on(context: FileContext) -> Iterator[ast.Call]:
    """Yield the draws in the forward of modules that are named for dropout and do not ask for the mode."""
    for cls in classes_that_answer(context):
        for method in run_by_forward(cls):
            for call in method.calls:
                if is_dropout(cls.name, call) and not guarded(method, call):
                    yield call
