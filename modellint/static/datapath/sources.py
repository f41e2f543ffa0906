"""What is read where something is run over: the loader that a counter, a generator or an object around it reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from modellint.static.guards import own
from modellint.static.origins import Activation, Origin, Resolver, is_generator
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.names import last_name
from modellint.static.project.trees import walk

MAX_DEPTH = 6
_READS_ALL = frozenset({"enumerate", "chain", "zip"})


def sources(resolver: Resolver, value: Origin, depth: int = 0) -> Iterator[tuple[Origin, bool]]:
    """Yield what is read where `value` is run over, itself first, with whether that may end before it does."""
    for origin in resolver.origins(value):
        yield origin, False
        if origin.path or depth > MAX_DEPTH:
            continue
        for inner, ends in _inside(resolver, origin):
            for found, partly in sources(resolver, inner, depth + 1):
                yield found, partly or ends


def _inside(resolver: Resolver, origin: Origin) -> Iterator[tuple[Origin, bool]]:
    """Yield what `origin` reads when it is run over itself, with whether it may stop earlier."""
    node = origin.node
    if isinstance(node, ast.GeneratorExp):
        yield origin.at(node.generators[0].iter), False
    elif isinstance(node, ast.Call):
        name = last_name(node.func)
        if name == "islice" and node.args:
            yield origin.at(node.args[0]), True
        elif name in _READS_ALL:
            counted = any(isinstance(a, ast.Call) and last_name(a.func) == "range" for a in node.args)
            yield from ((origin.at(argument), counted) for argument in node.args)
        else:
            for function, activation in _runs(resolver, origin, node):
                yield from _read_by(resolver, function, replace(origin, activation=activation))


def _runs(resolver: Resolver, origin: Origin, call: ast.Call) -> Iterator[tuple[FunctionInfo, Activation]]:
    """Yield the functions of the project that run as what `call` returns is run over."""
    for view in resolver.views(origin):
        target = view.callee.symbol.target if view.callee.symbol is not None else None
        if isinstance(target, FunctionInfo) and is_generator(target):
            yield target, resolver.activation(view, target)
        elif isinstance(target, ClassInfo):
            method = resolver.project.method(target, "__iter__")
            if method is not None:
                yield method, Activation((id(call), *origin.activation.key), {}, origin)
    if isinstance(call.func, ast.Attribute):
        for method, receiver in resolver.methods(origin, call.func):
            view_here = resolver.view(origin)
            if is_generator(method) and view_here is not None:
                yield method, resolver.activation(view_here, method, receiver)


def _read_by(resolver: Resolver, function: FunctionInfo, reader: Origin) -> Iterator[tuple[Origin, bool]]:
    """Yield what a function hands out: of the loops that yield, and of what an `__iter__` returns or delegates to."""
    activation = reader.activation
    for loop, _ in resolver.definitions(function).loops:
        if isinstance(loop, ast.comprehension) or not resolver.runs(function, loop, activation):
            continue
        inner = list(walk(loop))
        if any(isinstance(node, ast.Yield) for node in inner):
            stops = any(isinstance(node, (ast.Break, ast.Return)) for node in inner)
            yield Origin(loop.iter, function, activation, names=reader.names, unsure=reader.unsure), stops
    for delegated in own(function, ast.YieldFrom):
        yield Origin(delegated.value, function, activation, names=reader.names, unsure=reader.unsure), False
    if not is_generator(function):
        for returned in resolver.returned(function, activation):
            yield returned.like(reader.at(None)), False
