"""Who calls a function, and with what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from modellint.static.naming import is_test_file
from modellint.static.origins.values import Activation, Origin
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo
from modellint.static.project.callers import MAX_FILES, files_calling, name_in_calls

if TYPE_CHECKING:
    from modellint.static.origins.resolver import Resolver


def activations_of(resolver: Resolver, function: FunctionInfo) -> list[Activation]:
    """Return one activation for every call of `function` in sight."""
    found: list[Activation] = []
    name = name_in_calls(function)
    for module in _callers(resolver, function):
        for scope in [module.body, *module.functions]:
            for call in scope.calls_of(name) if scope is not function else ():
                made = _call_of(resolver, call, scope, function)
                if made is not None:
                    found.append(made)
    return found


def _call_of(resolver: Resolver, call: ast.Call, scope: FunctionInfo, function: FunctionInfo) -> Activation | None:
    origin = Origin(call, scope)
    symbol = resolver.project.resolve_in(scope, call.func)
    if function.cls is None:
        if symbol is None or symbol.target is not function:
            return None
    elif symbol is not None:
        if (
            not isinstance(symbol.target, ClassInfo)
            or resolver.project.method(symbol.target, "__init__") is not function
        ):
            return None
        return resolver.instance(symbol.target, origin)
    elif not isinstance(call.func, ast.Attribute):
        return None
    else:
        owners = resolver.methods(origin, call.func)
        mine = [receiver for method, receiver in owners if method is function]
        if owners and not mine:
            return None
        view = resolver.view(origin)
        return None if view is None else resolver.activation(view, function, mine[0] if mine else None)
    view = resolver.view(origin)
    return None if view is None else resolver.activation(view, function)


def _callers(resolver: Resolver, function: FunctionInfo) -> Iterator[ModuleInfo]:
    """Yield the files that may call `function`: its own first."""
    yield function.module
    project, mine = resolver.project, function.module.path
    files, read = files_calling(project, function, "values")
    files = [path for path in files if not is_test_file(path)]
    resolver.touched.update([mine], read)
    if len(files) <= MAX_FILES:
        resolver.touched.update(files)
        for path in files:
            module = project.load(path, mine, "values")
            if module is not None:
                yield module
