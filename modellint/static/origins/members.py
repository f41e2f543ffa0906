"""What an attribute may hold: of a module, of the object whose method this is, of any object in sight."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from modellint.static.origins.constructors import built_by
from modellint.static.origins.values import ELEMENT, EVERYWHERE, Origin
from modellint.static.origins.variables import of_global
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from modellint.static.origins.resolver import Resolver


def of_attribute(
    resolver: Resolver, origin: Origin, node: ast.Attribute, depth: int, seen: frozenset[object]
) -> Iterator[Origin]:
    """Yield where the attribute `node` may have its value from; `depth` and `seen` as in `follow`."""
    symbol = resolver.project.resolve_in(origin.scope, node)
    shadowed = isinstance(node.value, ast.Name) and bool(resolver.definitions(origin.scope).names.get(node.value.id))
    if symbol is not None and not shadowed:
        if symbol.variable is not None and isinstance(symbol.target, ModuleInfo):
            yield from of_global(resolver, symbol.target, symbol.variable, origin.at(node).along(origin.path))
        else:
            yield replace(origin, symbol=symbol)
        return
    cls = resolver.own_class(origin, node.value)
    if cls is not None:
        receiver = origin.activation.receiver
        heir = resolver.constructed(receiver) if receiver is not None else None
        yield from _of_instance(resolver, origin, node, heir or cls, receiver, origin)
        return
    for owner in resolver.follow(origin.at(node.value), depth + 1, seen):
        target = resolver.constructed(owner)
        if target is not None:
            yield from _of_instance(resolver, origin, node, target, owner, owner)
    if isinstance(node.value, ast.Name):
        for definition in resolver.definitions(origin.scope).attributes.get((node.value.id, node.attr), ()):
            yield origin.at(definition.value, node.attr).along((*definition.path, *origin.path))


def _of_instance(
    resolver: Resolver, origin: Origin, node: ast.Attribute, cls: ClassInfo, receiver: Origin | None, owner: Origin
) -> Iterator[Origin]:
    """Yield what the attribute of an instance of `cls` may hold; `receiver` is where it was constructed."""
    names = owner.names | {node.attr}
    init = resolver.instance(cls, receiver)
    for ancestor in resolver.project.ancestry(cls)[0]:
        for method in ancestor.methods.values():
            if method.self_name is None:
                continue
            if method.name == node.attr and method.is_property:
                made = replace(EVERYWHERE, receiver=receiver)
                yield from (v.along((), names).like(origin) for v in resolver.returned(method, made))
            definitions, held = resolver.definitions(method), f"{method.self_name}.{node.attr}"
            assigned = definitions.attributes.get((method.self_name, node.attr), ())
            appended = definitions.items.get(held, ()) if origin.path[:1] == (ELEMENT,) else ()
            if not assigned and not appended:
                continue
            activation = replace(EVERYWHERE, receiver=receiver)
            if method.name == "__init__":
                activation = built_by(resolver, cls, method, init)
            for definition in assigned:
                holds, sure = resolver.holds(method, definition.value, activation, None)
                if holds:
                    made_here = Origin(definition.value, method, activation, definition.path, None, names, not sure)
                    yield made_here.like(origin)
            for _, item in appended:
                holds, sure = resolver.holds(method, item.value, activation, None)
                if holds:
                    element = Origin(item.value, method, activation, item.path, None, names, not sure)
                    yield element.along(origin.path[1:], origin.names, origin.unsure)
        for method in ancestor.methods.values():
            yield from (
                Origin(call, method, EVERYWHERE, (), None, names).like(origin) for call in _sets_by_name(method)
            )
    if node.attr in cls.fields and node.attr in init.bindings:
        yield init.bindings[node.attr].along((), names).like(origin)


def _sets_by_name(method: FunctionInfo) -> Iterator[ast.Call]:
    """Yield the calls that set attributes of an object by names that are not written: `self.__dict__.update(args)`."""
    owner = method.self_name
    for call in method.calls_of("update") if owner is not None else ():
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in (
            f"{owner}.__dict__",
            f"vars({owner})",
        ):
            yield call
    for call in method.calls_of("setattr") if owner is not None else ():
        if (
            len(call.args) == 3
            and ast.unparse(call.args[0]) == owner
            and not isinstance(call.args[1], (ast.Constant, ast.JoinedStr))
        ):
            yield call
