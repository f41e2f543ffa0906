"""Who calls a function, and with what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from modellint.static.naming import is_test_file
from modellint.static.origins.constructors import called_bases, heirs
from modellint.static.origins.values import EVERYWHERE, Activation, Origin
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
    if function.name == "__init__":
        found += _as_heirs(resolver, function)
    return found


def _as_heirs(resolver: Resolver, init: FunctionInfo) -> Iterator[Activation]:
    """Yield one activation of a constructor for every class that inherits it, or calls it from its own."""
    assert init.cls is not None
    for heir, files in heirs(resolver, init.cls):
        own = resolver.project.method(heir, "__init__")
        if own is init:
            calls = ((scope, c) for m in files for scope in [m.body, *m.functions] for c in scope.calls_of(heir.name))
            made = (_call_of(resolver, call, scope, init) for scope, call in calls)
            yield from (one for one in made if one is not None)
        elif own is not None and own.cls is heir:
            yield from (given for base, given in called_bases(resolver, own, EVERYWHERE) if base is init)


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
