"""What the bases of a class do around a method of it: their templates call what it overrides."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modellint.static.guards import path_to
from modellint.static.project import FunctionInfo, Project
from modellint.static.project.facts import last_name

_SWITCHES = frozenset({"no_grad", "inference_mode"})
_DEEPEST = 3


def runs_without_gradients(method: FunctionInfo, project: Project, depth: int = 0) -> bool:
    """Tell whether every call of `method` through `self`, in its class and the bases, stands under no_grad.

    A call in a method that is itself called under no_grad only counts. False where nobody calls it.
    """
    if method.cls is None or depth > _DEEPEST:
        return False
    calls = list(_calls_through_self(method, project))
    return bool(calls) and all(
        under_switch(caller, call) or runs_without_gradients(caller, project, depth + 1) for caller, call in calls
    )


def _calls_through_self(method: FunctionInfo, project: Project) -> Iterator[tuple[FunctionInfo, ast.Call]]:
    """Yield the calls `self.method(...)` in the class and its bases, but for its own way to `super()`."""
    assert method.cls is not None
    for owner in project.ancestry(method.cls)[0]:
        for caller in owner.methods.values():
            if method.name not in caller.callees or caller.name == method.name:
                continue
            for call in caller.calls:
                func = call.func
                if isinstance(func, ast.Attribute) and func.attr == method.name and _is_self(func.value, caller):
                    yield caller, call


def _is_self(node: ast.expr, method: FunctionInfo) -> bool:
    return isinstance(node, ast.Name) and node.id == method.self_name


def under_switch(caller: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a call stands in a `with` block that switches gradients off, or in a function decorated for that."""
    decorators = caller.node.decorator_list if caller.node is not None else []
    if any(last_name(decorator) in _SWITCHES for decorator in decorators):
        return True
    return any(
        isinstance(node, (ast.With, ast.AsyncWith))
        and any(last_name(item.context_expr) in _SWITCHES for item in node.items)
        for node in path_to(caller, call)
    )
