"""What `**options` passes: the dictionary that is written down, without what the code changes in it later."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from modellint.static.guards import own
from modellint.static.origins.values import Origin
from modellint.static.project import FunctionInfo
from modellint.static.project.names import last_name

if TYPE_CHECKING:
    from modellint.static.origins.resolver import Resolver

_ONE_KEY = frozenset({"pop", "setdefault"})
_ALL_KEYS = frozenset({"clear", "popitem"})
_MAX_DEPTH = 3  # dictionaries that are filled from one another


def options_in(
    resolver: Resolver, origin: Origin, seen: frozenset[str] = frozenset()
) -> tuple[dict[str, Origin], bool]:
    """Return what `**origin` passes as far as it is in sight, and whether that is all of it.

    `seen` are the dictionaries that are being filled from this one.
    """
    found = resolver.origins(origin)
    written = _written(found[0]) if len(found) == 1 else None
    if written is None or not seen.isdisjoint(found[0].names) or len(seen) > _MAX_DEPTH:
        return {}, False
    names, scopes = found[0].names, {found[0].scope, origin.scope}
    changed = {key for scope in scopes for key in _changed(resolver, scope, names, seen | names)}
    if None in changed:
        return {}, False
    return {name: value for name, value in written.items() if name not in changed}, not changed


def _written(origin: Origin) -> dict[str, Origin] | None:
    """Return the items of a dictionary that is written down with texts for keys, None for anything else."""
    node = origin.node
    if isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        if all(isinstance(key, str) for key in keys):
            return {str(key): origin.at(value) for key, value in zip(keys, node.values, strict=True)}
    elif isinstance(node, ast.Call) and last_name(node.func) == "dict" and not node.args:
        if all(keyword.arg is not None for keyword in node.keywords):
            return {str(keyword.arg): origin.at(keyword.value) for keyword in node.keywords}
    return None


def _changed(
    resolver: Resolver, scope: FunctionInfo, names: frozenset[str], seen: frozenset[str]
) -> Iterator[str | None]:
    """Yield the keys that `scope` sets or drops in a dictionary called one of `names`, None where any may be meant."""
    for node in own(scope, ast.Subscript):
        if not isinstance(node.ctx, ast.Load) and last_name(node.value) in names:
            yield _text(node.slice)
    for node in own(scope, ast.AugAssign):
        if last_name(node.target) in names:
            yield None
    for call in scope.calls:
        if not isinstance(call.func, ast.Attribute) or last_name(call.func.value) not in names:
            continue
        if call.func.attr in _ONE_KEY and call.args:
            yield _text(call.args[0])
        elif call.func.attr in _ALL_KEYS:
            yield None
        elif call.func.attr == "update":
            yield from (keyword.arg for keyword in call.keywords)
            for given in call.args:
                items, complete = options_in(resolver, Origin(given, scope), seen)
                yield from items if complete else (None,)


def _text(key: ast.expr) -> str | None:
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
