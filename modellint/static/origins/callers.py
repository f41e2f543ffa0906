"""Who calls a function, and with what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from modellint.static.naming import is_test_file
from modellint.static.origins.values import Activation, Origin
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo
from modellint.static.project.facts import last_name

if TYPE_CHECKING:
    from modellint.static.origins.resolver import Resolver

MAX_FILES = 12


def activations_of(resolver: Resolver, function: FunctionInfo) -> list[Activation]:
    """Return one activation for every call of `function` in sight."""
    found: list[Activation] = []
    constructor = function.cls is not None and function.name == "__init__"
    name = function.cls.name if constructor and function.cls is not None else function.name
    for module in _callers(resolver, function, name):
        for scope in [module.body, *module.functions]:
            if name not in scope.callees:
                continue
            for call in scope.calls:
                if last_name(call.func) == name and scope is not function:
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


def _callers(resolver: Resolver, function: FunctionInfo, name: str) -> Iterator[ModuleInfo]:
    """Yield the files that may call `function`: its own, and those that mention it and its file or class."""
    yield function.module
    stem = function.module.path.stem if function.module.path.stem != "__init__" else function.module.path.parent.name
    project, mine = resolver.project, function.module.path
    importing = set(project.mentioning(function.cls.name if function.cls is not None else stem, mine, "values"))
    files = [p for p in project.mentioning(name, mine, "values") if p != mine and p in importing]
    files = [p for p in files if not is_test_file(p)]
    resolver.touched.add(mine)
    if len(files) <= MAX_FILES:
        resolver.touched.update(files)
        for path in files:
            module = project.load(path, mine, "values")
            if module is not None:
                yield module
