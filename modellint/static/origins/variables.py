"""What a name may hold: a variable of a function or a file, a parameter, something imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from modellint.static.guards import own
from modellint.static.origins.values import ELEMENT, EVERYWHERE, Activation, Origin
from modellint.static.project import FunctionInfo, ModuleInfo
from modellint.static.project.facts import parameters

if TYPE_CHECKING:
    from modellint.static.origins.resolver import Resolver


def of_name(resolver: Resolver, origin: Origin, node: ast.Name) -> Iterator[Origin]:
    """Yield where the name `node` may have its value from."""
    name = node.id
    scope: FunctionInfo | None = origin.scope
    activation: Activation | None = origin.activation
    use: ast.AST | None = node
    while scope is not None:
        current = activation or EVERYWHERE
        if name in current.bindings:
            bound = current.bindings[name]
            yield bound.along(origin.path, origin.names | {name}, origin.unsure)
            return
        if name == scope.self_name and current.receiver is not None:
            yield current.receiver.like(origin)
            return
        known = resolver.definitions(scope).reaching(name, use)
        if known and origin.path:
            yield from _items(resolver, origin, scope, current, name)
        if known:
            for definition in known:
                holds, sure = resolver.holds(scope, definition.value, current, use)
                if holds:
                    made = Origin(definition.value, scope, current, definition.path, None, frozenset({name}), not sure)
                    yield made.like(origin)
            return
        if name in scope.functions or name in scope.classes:
            break
        given = next(((a, d) for a, d in parameters(scope) if a.arg == name), None)
        if given is not None:
            if current is not EVERYWHERE and current.depth:  # the call is known and leaves it out
                if given[1] is not None and scope.parent is not None:
                    yield Origin(given[1], scope.parent, names=frozenset({name})).like(origin)
            else:
                yield from _from_callers(resolver, scope, name, current, origin)
            return
        scope, activation, use = scope.parent, current.outer, None
    symbol = resolver.project.resolve_in(origin.scope, node)
    if symbol is None:
        yield from _declared_global(resolver, origin, name)
        return
    if symbol.variable is not None and isinstance(symbol.target, ModuleInfo):
        yield from of_global(resolver, symbol.target, symbol.variable, origin)
    else:
        yield replace(origin, symbol=symbol)


def _items(resolver: Resolver, origin: Origin, scope: FunctionInfo, current: Activation, name: str) -> Iterator[Origin]:
    """Yield what was stored under the first step of the path: `loaders["val"] = ...`."""
    step, rest = origin.path[0], origin.path[1:]
    for key, definition in resolver.definitions(scope).items.get(name, ()):
        if key == step or ELEMENT in (key, step):
            holds, sure = resolver.holds(scope, definition.value, current, None)
            if holds:
                made = Origin(definition.value, scope, current, definition.path, None, frozenset({name}), not sure)
                yield made.along(rest, origin.names | {str(step).strip("'")}, origin.unsure)


def of_global(resolver: Resolver, module: ModuleInfo, name: str, origin: Origin) -> Iterator[Origin]:
    """Yield what the variable `name` of the file `module` may hold."""
    for definition in resolver.definitions(module.body).reaching(name, None):
        sure = resolver.holds(module.body, definition.value, EVERYWHERE, None)[1]
        yield Origin(
            definition.value, module.body, EVERYWHERE, definition.path, None, frozenset({name}), not sure
        ).like(origin)


def _declared_global(resolver: Resolver, origin: Origin, name: str) -> Iterator[Origin]:
    """Yield what functions assign to a global that the top of their file leaves to them: `global loader`."""
    setters = _setters(origin.scope.module).get(name, ())
    made = [(f, found) for f in setters for found in resolver.definitions(f).reaching(name, None)]
    for function, found in made:
        held = Origin(found.value, function, EVERYWHERE, found.path, None, frozenset({name}), len(made) > 1)
        yield held.like(origin)


def _setters(module: ModuleInfo) -> dict[str, list[FunctionInfo]]:
    """Return the functions of a file that declare each name global."""
    known: dict[str, list[FunctionInfo]] | None = module.body.memo.get(_setters)
    if known is None:
        known = module.body.memo[_setters] = {}
        for function in module.functions:
            for name in {name for node in own(function, ast.Global) for name in node.names}:
                known.setdefault(name, []).append(function)
    return known


def _from_callers(
    resolver: Resolver, function: FunctionInfo, name: str, current: Activation, origin: Origin
) -> Iterator[Origin]:
    for activation in resolver.activations(function):
        if activation is not EVERYWHERE and name in activation.bindings:
            yield activation.bindings[name].along(origin.path, origin.names | {name}, origin.unsure)
