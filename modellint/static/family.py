"""What the methods of a class do for each other: templates of a base around what is overridden, a forward's helpers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modellint.static.guards import path_to, walk_own
from modellint.static.naming import speaks_of_inference
from modellint.static.project import ClassInfo, FunctionInfo, Project
from modellint.static.project.names import last_name

_SWITCHES = frozenset({"no_grad", "inference_mode"})
_DEEPEST = 3


def runs_without_gradients(method: FunctionInfo, project: Project, depth: int = 0) -> bool:
    """Tell whether every call of `method` through `self`, in its class and the bases, stands under no_grad.

    A call in a method that is itself called under no_grad only counts; what is named for training records on purpose.
    False where nobody calls it.
    """
    if method.cls is None or depth > _DEEPEST:
        return False
    uses = [use for use in _uses_through_self(method, project) if speaks_of_inference(use[0].name) is not False]
    return bool(uses) and all(
        under_switch(caller, node) or runs_without_gradients(caller, project, depth + 1) for caller, node in uses
    )


def _uses_through_self(method: FunctionInfo, project: Project) -> Iterator[tuple[FunctionInfo, ast.AST]]:
    """Yield where the class and its bases call `self.method` or hand it on, but for its own way to `super()`.

    The forward of a module is called by `self(x)` as well.
    """
    assert method.cls is not None
    for owner in project.ancestry(method.cls)[0]:
        for caller in owner.methods.values():
            for node in walk_own(caller) if caller.name != method.name else ():
                named = isinstance(node, ast.Attribute) and node.attr == method.name and _is_self(node.value, caller)
                if named or (method.name == "forward" and isinstance(node, ast.Call) and _is_self(node.func, caller)):
                    yield caller, node


def differentiates(cls: ClassInfo, project: Project) -> bool:
    """Tell whether the forward of `cls`, or a method of its own that it calls, asks for gradients: forces, say."""
    forward = project.method(cls, "forward")
    methods = [forward] if forward is not None else []
    for method in methods:
        for call in method.calls_of("grad", "backward"):
            symbol = project.resolve_in(method, call.func)
            if symbol is not None and symbol.dotted.startswith("torch.autograd."):
                return True
        others = (project.method(cls, name) for name in method.callees)
        methods += [other for other in others if other is not None and other not in methods]
    return False


def _is_self(node: ast.expr, method: FunctionInfo) -> bool:
    return isinstance(node, ast.Name) and node.id == method.self_name


def under_switch(caller: FunctionInfo, node: ast.AST) -> bool:
    """Tell whether `node` stands in a `with` block that switches gradients off, or in a function decorated for that."""
    decorators = caller.node.decorator_list if caller.node is not None else []
    if any(last_name(decorator) in _SWITCHES for decorator in decorators):
        return True
    return any(
        isinstance(outer, (ast.With, ast.AsyncWith))
        and any(last_name(item.context_expr) in _SWITCHES for item in outer.items)
        for outer in path_to(caller, node)
    )
