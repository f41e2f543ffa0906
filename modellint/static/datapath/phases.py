"""Loops around a loop that run over what is known: training and validation in turn, by their names or their loaders."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from modellint.static.origins import Activation, Origin, Resolver
from modellint.static.project import FunctionInfo
from modellint.static.project.trees import walk


def phases(resolver: Resolver, loop: ast.AST, scope: FunctionInfo, activation: Activation) -> list[Activation]:
    """Return the activation once for each turn of the loops around `loop` of which the turns are known."""
    found = [activation]
    for outer, _ in resolver.definitions(scope).loops:
        if isinstance(outer, ast.comprehension) or outer is loop:
            continue
        turns = list(_turns(resolver, outer, Origin(outer.iter, scope, activation)))
        if turns and any(node is loop for node in walk(outer)):
            found = [_bound(one, turn) for one in found for turn in turns]
    return found


def _bound(activation: Activation, turn: Mapping[str, Origin]) -> Activation:
    for name, value in turn.items():
        activation = activation.bind(name, value)
    return activation


def _turns(resolver: Resolver, loop: ast.For | ast.AsyncFor, over: Origin) -> Iterator[dict[str, Origin]]:
    """Yield what each turn of a loop binds its variables to, nothing where that is not known."""
    target, iterated = loop.target, loop.iter
    if isinstance(target, ast.Name):
        for item in iterated.elts if isinstance(iterated, (ast.List, ast.Tuple)) else ():
            if isinstance(item, ast.Constant):
                yield {target.id: over.at(item)}
        return
    names = [item.id for item in getattr(target, "elts", []) if isinstance(item, ast.Name)]
    if len(names) != 2:
        return
    if isinstance(iterated, (ast.List, ast.Tuple)):  # for phase, loader in (("train", a), ("val", b))
        for item in iterated.elts:
            if isinstance(item, ast.Tuple) and len(item.elts) == 2 and isinstance(item.elts[0], ast.Constant):
                yield {names[0]: over.at(item.elts[0]), names[1]: over.at(item.elts[1])}
    elif isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Attribute) and iterated.func.attr == "items":
        table = over.at(iterated.func.value)
        for key in _keys(resolver, table):
            yield {names[0]: over.at(key), names[1]: table.along((repr(key.value),))}


def _keys(resolver: Resolver, table: Origin) -> Iterator[ast.Constant]:
    """Yield the keys of a dictionary that is written down with constants for keys."""
    for origin in resolver.origins(table):
        keys: list[ast.expr | None] = []
        if isinstance(origin.node, ast.Dict):
            keys = list(origin.node.keys)
        elif isinstance(origin.node, ast.DictComp):
            keys = list(getattr(origin.node.generators[0].iter, "elts", []))
        yield from (key for key in keys if isinstance(key, ast.Constant))
