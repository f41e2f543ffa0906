"""Which functions may make a model, or hand out or keep one that they are given: read off their text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modellint.static.flow.vocabulary import KEEPS
from modellint.static.guards import assignments, own, returned, values_of, walk_own
from modellint.static.knowledge import Knowledge
from modellint.static.project import ClassInfo, FunctionInfo, Project, Symbol
from modellint.static.project.facts import imported_by, parameters
from modellint.static.project.names import dotted_name, last_name


def makes_something(project: Project, knowledge: Knowledge, function: FunctionInfo) -> bool:
    """Tell whether `function` makes modules, hands out objects of the project, or keeps what it is given."""
    if function.cls is not None and function.name == "__init__":
        return True
    return (
        any(_makes(project, knowledge, function, call) for call in function.calls)
        or _hands_on(function)
        or _calls_what_it_picks(function)
        or _calls_what_branches_bring(project, knowledge, function)
        or hands_out_code(project, knowledge, function)
    )


def _makes(project: Project, knowledge: Knowledge, function: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a call makes an object of the project, a library's module, or a model that is loaded or wrapped."""
    symbol = project.resolve_in(function, call.func)
    if symbol is None:
        return _loads_as_its_base(project, knowledge, function, call)
    return isinstance(symbol.target, ClassInfo) or _makes_modules(knowledge, symbol.dotted)


def hands_out_code(project: Project, knowledge: Knowledge, function: FunctionInfo) -> bool:
    """Tell whether a function returns a class or a function for others to call: `return {"unet": UNet}[name]`."""
    home = function.module.body
    for value in returned(function):
        tables = [value for name in _names_outside_calls(value) for value in values_of(home, name)]
        for part in (part for table in (value, *tables) for part in _outside_calls(table)):
            symbol = project.resolve_in(function, part)
            if symbol is None:
                continue
            if isinstance(symbol.target, (ClassInfo, FunctionInfo)) or _makes_modules(knowledge, symbol.dotted):
                return True
    return False


def _outside_calls(value: ast.expr) -> Iterator[ast.Name | ast.Attribute]:
    """Yield the names, dotted ones too, whose objects an expression may be or hold: none of a call in it."""
    if isinstance(value, (ast.Name, ast.Attribute)) and dotted_name(value) is not None:
        yield value
    elif not isinstance(value, (ast.Call, ast.BinOp, ast.Compare, ast.JoinedStr)):
        for child in ast.iter_child_nodes(value):
            if isinstance(child, ast.expr):
                yield from _outside_calls(child)


def _makes_modules(knowledge: Knowledge, dotted: str) -> bool:
    """Tell whether a name of a library is that of a loader, a wrapper or a class of modules."""
    tables = (knowledge.loaders, knowledge.wrappers, knowledge.module_bases)
    return any(table.get(dotted) for table in tables)


def _loads_as_its_base(project: Project, knowledge: Knowledge, function: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether this is a library's loader that the class inherits: `super().load_from_checkpoint(path)`."""
    func = call.func
    if function.cls is None or not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Call):
        return False
    if last_name(func.value) != "super":
        return False
    return knowledge.method(knowledge.loaders, project.ancestry(function.cls)[1], func.attr) is not None


def _calls_what_it_picks(function: FunctionInfo) -> bool:
    """Tell whether a function calls what it takes out of a table: `load = LOADERS[kind]; return load(name)`."""
    called = {call.func.id for call in function.calls if isinstance(call.func, ast.Name)} & function.stores
    return bool(called) and any(
        isinstance(node.value, ast.Subscript) and isinstance(target, ast.Name) and target.id in called
        for node in own(function, ast.Assign)
        for target in node.targets
    )


def _calls_what_branches_bring(project: Project, knowledge: Knowledge, function: FunctionInfo) -> bool:
    """Tell whether a function calls a name to which its branches bind classes, one of which makes a module."""
    called = {call.func.id for call in function.calls if isinstance(call.func, ast.Name)} & function.stores
    symbols = [symbol for name in called for symbol in brought(project, function, name)]
    return any(isinstance(s.target, ClassInfo) or _makes_modules(knowledge, s.dotted) for s in symbols)


def brought(project: Project, function: FunctionInfo, name: str) -> list[Symbol]:
    """Return what a variable may stand for: `from .sr import SR as M` in a branch, `M = SR` in another."""
    if name not in function.stores:
        return []
    found = [
        project.bound_by(function.module, imported)
        for node in own(function, ast.Import, ast.ImportFrom)
        for local, imported in imported_by(node)
        if local == name
    ]
    found += [
        project.resolve_in(function, value)
        for target, value in assignments(function)
        if target == name and dotted_name(value) is not None
    ]
    return [symbol for symbol in found if symbol is not None]


def is_factory(function: FunctionInfo, callee: ast.expr) -> bool:
    """Tell whether a function uses what `callee` gives as a module: `net = model(config); net.parameters()`.

    A class that is handed in has the name of a model; the methods of an object share what it keeps. What is given the
    options of a program first, `model(opt, rank)`, is built of them.
    """
    known: frozenset[str] | None = function.memo.get(is_factory)
    if known is None:
        known = function.memo[is_factory] = frozenset(_factories(function))
    return bool(known) and ast.unparse(callee) in known


def _factories(function: FunctionInfo) -> Iterator[str]:
    beside = function.cls.methods.values() if function.cls is not None else ()
    asked = _asked_as_modules(function) | {
        text for method in beside for text in _asked_as_modules(method) if text.startswith("self.")
    }
    for node in own(function, ast.Assign) if asked else ():
        if not asked.isdisjoint(map(ast.unparse, node.targets)):
            for call in ast.walk(node.value):
                if isinstance(call, ast.Call) and isinstance(call.func, (ast.Name, ast.Attribute)):
                    yield ast.unparse(call.func)
    for call in function.calls:
        first = call.args[0] if call.args else None
        if isinstance(call.func, ast.Name) and isinstance(first, ast.Name) and _OPTIONS.match(first.id):
            yield call.func.id


_OPTIONS = re.compile(r"^(args|opts?|options|cfg|conf|config)$")


def _asked_as_modules(function: FunctionInfo) -> set[str]:
    """Return the names and attributes of which a function calls a method that nothing but a module has."""
    if _OF_MODULES.isdisjoint(function.callees):
        return set()
    called = [call.func for call in function.calls]
    return {ast.unparse(f.value) for f in called if isinstance(f, ast.Attribute) and f.attr in _OF_MODULES}


_OF_MODULES = frozenset("parameters named_parameters modules load_state_dict train eval".split())


def _hands_on(function: FunctionInfo) -> bool:
    """Tell whether a function returns what it was given, stores something in an object, or hands out functions."""
    given = {argument.arg for argument, _ in parameters(function)}
    given |= {name for name, value in assignments(function) if isinstance(value, ast.Name) and value.id in given}
    returned: list[ast.expr] = []
    assigned: dict[str, list[ast.expr]] = {}
    for node in walk_own(function):
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            return True
        if _puts_away(node, given):
            return True
        if isinstance(node, ast.Return) and node.value is not None:
            returned.append(node.value)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                for bound in ast.walk(target):
                    if isinstance(bound, ast.Name):
                        assigned.setdefault(bound.id, []).append(node.value)
    if function.nested or any(isinstance(value, ast.Lambda) for value in returned):
        return True
    names = {name for value in returned for name in _names_outside_calls(value)}
    for name in list(names):
        for value in assigned.get(name, ()):
            names |= _names_outside_calls(value)
    if function.parent is not None and not function.parent.is_body:
        return not names <= function.stores - given  # what is around a nested function, it can hand out
    return not names.isdisjoint(given)


def _puts_away(node: ast.AST, given: set[str]) -> bool:
    """Tell whether something of what is `given` goes into a container: `nets[name] = net`, `nets.append(net)`."""
    if isinstance(node, ast.Assign) and any(isinstance(target, ast.Subscript) for target in node.targets):
        return not given.isdisjoint(_names_outside_calls(node.value))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in KEEPS:
        return any(not given.isdisjoint(_names_outside_calls(argument)) for argument in node.args)
    return False


def _names_outside_calls(value: ast.expr) -> set[str]:
    """Return the names whose objects `value` may be or hold; what a call makes of its arguments is another thing."""
    parts = (node for part in _outside_calls(value) for node in ast.walk(part))
    return {node.id for node in parts if isinstance(node, ast.Name)}
