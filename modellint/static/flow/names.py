"""From a name in the text to a value: variables of the frames around it, definitions, imports, builtins."""

from __future__ import annotations

import ast
import builtins
from itertools import islice
from pathlib import Path

from modellint.static.flow.machine import Machine
from modellint.static.flow.state import State
from modellint.static.flow.values import (
    NOTHING,
    AnySymbol,
    ClassValue,
    External,
    FunctionValue,
    ModuleValue,
    Value,
    constant,
)
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo, Symbol
from modellint.static.project.facts import parameters

_BUILTINS = frozenset(dir(builtins))


def name_value(machine: Machine, node: ast.Name, state: State) -> Value:
    """Return what a name holds."""
    name = node.id
    frame = machine.frame
    variables = state.variables
    number: int | None = frame.id
    while number is not None:
        value = variables.find((number, name))
        if value is not None:
            return value
        number = machine.parents.get(number)
    scope: FunctionInfo | None = frame.function
    while scope is not None and not scope.is_body:
        inner = scope.functions.get(name)
        if inner is not None:
            return Value(symbols=(FunctionValue(inner, frame.parent, name),))
        if name in scope.classes:
            return Value(symbols=(ClassValue(scope.classes[name], name),))
        if name in scope.imports:
            symbol = machine.project.imported_in(scope, name)
            return symbol_value(machine, symbol, state) if symbol is not None else NOTHING
        scope = scope.parent
    module = frame.module
    if name in module.body.stores and module is not machine.main and name not in module.imports:
        number = machine.ensure_module(module, state)
        value = variables.find((number, name))
        if value is not None:
            return value
    symbol = machine.project.lookup(frame.module, name)
    if symbol is not None:
        return symbol_value(machine, symbol, state)
    if name == "__name__":
        main = frame.module is machine.main and not machine.recorder.muted
        return constant("__main__") if main else NOTHING
    if name in _BUILTINS:
        return Value(symbols=(External(f"builtins.{name}"),))
    return NOTHING


def member_value(machine: Machine, owner: Symbol, name: str, state: State) -> Value:
    """Return the attribute `name` of a module or package; its `__dict__` is taken for itself."""
    if name == "__dict__" and owner.target is not None:
        return Value(symbols=(ModuleValue(owner),))
    member = machine.project.member(owner, name, machine.frame.module.path)
    return NOTHING if member is None else symbol_value(machine, member, state)


def some_member(machine: Machine, owner: Symbol, state: State) -> Value:
    """Return what a name picks from a file of the project that is not known: some of those that build models."""
    if not isinstance(owner.target, (ModuleInfo, Path)):
        return NOTHING
    factories: list[AnySymbol] = []
    classes: list[AnySymbol] = []
    others: list[AnySymbol] = []
    for offered in islice(machine.project.offered(owner, machine.frame.module.path), _CONSIDERED):
        for symbol in symbol_value(machine, offered, state).symbols:
            if isinstance(symbol, ClassValue) and machine.classes.is_module(symbol.cls):
                classes.append(symbol)
            elif isinstance(symbol, FunctionValue) and not machine.is_inert(symbol.function):
                (factories if _takes_options(symbol.function) else others).append(symbol)
        if len(factories) >= _PICKED:
            break
    return Value(symbols=(*factories, *classes, *others)[:_PICKED])


_PICKED = 3  # one is as good as another: they differ in their layers
_CONSIDERED = 400  # what offers more than these is a library, and tells nothing of the model that is picked


def _takes_options(function: FunctionInfo) -> bool:
    """Tell whether a function is a factory of a collection, by the options that all of those take."""
    names = {argument.arg for argument, _ in parameters(function)}
    return not names.isdisjoint({"pretrained", "num_classes", "weights"}) or (
        function.node is not None and function.node.args.kwarg is not None
    )


def symbol_value(machine: Machine, symbol: Symbol, state: State) -> Value:
    """Return the value of a resolved name."""
    target = symbol.target
    if symbol.variable is not None and isinstance(target, ModuleInfo):
        number = machine.ensure_module(target, state)
        return state.variables.find((number, symbol.variable)) or NOTHING
    if isinstance(target, ClassInfo):
        return Value(symbols=(ClassValue(target, symbol.dotted),))
    if isinstance(target, FunctionInfo):
        return Value(symbols=(FunctionValue(target, None, symbol.dotted),))
    if target is not None:
        return Value(symbols=(ModuleValue(symbol),))
    return Value(symbols=(External(symbol.dotted),))
