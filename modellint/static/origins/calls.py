"""A call with its arguments as origins, whatever it is written like: directly, through `partial`, with `**options`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from modellint.static.guards import own
from modellint.static.origins.constructors import heirs
from modellint.static.origins.options import options_in
from modellint.static.origins.values import Origin
from modellint.static.project import ClassInfo, FunctionInfo, Symbol
from modellint.static.project.facts import parameters
from modellint.static.project.names import last_name

if TYPE_CHECKING:
    from modellint.static.origins.resolver import Resolver


@dataclass(frozen=True, slots=True, eq=False)
class CallView:
    """A call as one may ask for its arguments. `opaque`: some of them are out of sight (`*args`, `**options`)."""

    origin: Origin
    callee: Origin
    positional: tuple[Origin, ...]
    keywords: Mapping[str, Origin]
    opaque: bool

    @property
    def node(self) -> ast.Call:
        """The call."""
        assert isinstance(self.origin.node, ast.Call)
        return self.origin.node

    @property
    def dotted(self) -> str:
        """The qualified name of what is called, empty where it is not known."""
        return self.callee.symbol.dotted if self.callee.symbol is not None else ""

    def argument(self, name: str, position: int | None = None) -> Origin | None:
        """Return an argument by keyword or by position."""
        if name in self.keywords:
            return self.keywords[name]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return None

    def every(self) -> Iterator[Origin]:
        """Yield all arguments in sight."""
        yield from self.positional
        yield from self.keywords.values()

    def bound_to(self, function: FunctionInfo, skip: int) -> dict[str, Origin]:
        """Return the parameters of `function` that this call gives, after the first `skip` ones."""
        node = function.node
        if node is None:
            return {}
        order = [a.arg for a in node.args.posonlyargs + node.args.args][skip:]
        bound = dict(zip(order, self.positional, strict=False))
        accepted = {argument.arg for argument, _ in parameters(function)}
        bound.update({name: value for name, value in self.keywords.items() if name in accepted})
        return bound


def is_parameter(given: Origin) -> bool:
    """Tell whether an argument is a parameter of the function that hands it on: what it is, the callers know."""
    return isinstance(given.node, ast.Name) and any(a.arg == given.node.id for a, _ in parameters(given.scope))


def is_generator(function: FunctionInfo) -> bool:
    """Tell whether a function yields: what a call of it returns is made here, and runs it step by step."""
    return bool(own(function, ast.Yield, ast.YieldFrom))


def views_of(resolver: Resolver, origin: Origin) -> list[CallView]:
    """Return the call that `origin` is, once for everything that may be called there."""
    node = origin.node
    if not isinstance(node, ast.Call):
        return []
    base = replace(origin, path=(), symbol=None)
    positional, opaque = [], False
    for item in node.args:
        if isinstance(item, ast.Starred):
            opaque = True
        else:
            positional.append(base.at(item))
    keywords: dict[str, Origin] = {}
    for keyword in node.keywords:
        if keyword.arg is not None:
            keywords[keyword.arg] = base.at(keyword.value)
            continue
        spread, complete = options_in(resolver, base.at(keyword.value))
        opaque |= not complete
        keywords.update(spread)
    callees = _callees(resolver, base.at(node.func)) or [base.at(node.func)]
    return [_merged(resolver, c, base, tuple(positional), keywords, opaque) for c in callees]


def _callees(resolver: Resolver, func: Origin) -> list[Origin]:
    if isinstance(func.node, ast.Attribute):
        symbol = resolver.project.resolve_in(func.scope, func.node)
        if symbol is not None:
            return [replace(func, symbol=symbol)]
        return []
    made = _own_class(func)
    if made is not None and not any(True for _ in heirs(resolver, made)):
        return [replace(func, symbol=Symbol(made.name, made))]
    return [] if isinstance(func.node, ast.Call) and last_name(func.node) is None else resolver.origins(func)


def _own_class(func: Origin) -> ClassInfo | None:
    """Return the class that a class method is written in, where `func` is its `cls`, which may be an heir of that."""
    scope: FunctionInfo | None = func.scope
    while scope is not None and isinstance(func.node, ast.Name):
        if scope.is_classmethod and scope.self_name == func.node.id:
            return scope.cls
        scope = scope.parent
    return None


def _merged(
    resolver: Resolver,
    callee: Origin,
    base: Origin,
    positional: tuple[Origin, ...],
    keywords: dict[str, Origin],
    opaque: bool,
) -> CallView:
    """Return the view of a call; one of a `functools.partial` is one of what it wraps."""
    if callee.symbol is None and isinstance(callee.node, ast.Call) and last_name(callee.node.func) == "partial":
        wrapped = resolver.view(callee)
        if wrapped is not None and wrapped.positional:
            inner = _callees(resolver, wrapped.positional[0])
            if inner:
                merged = {**wrapped.keywords, **keywords}
                return CallView(base, inner[0], wrapped.positional[1:] + positional, merged, opaque or wrapped.opaque)
    return CallView(base, callee, positional, keywords, opaque)
