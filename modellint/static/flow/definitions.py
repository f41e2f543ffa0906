"""Definitions and imports: what a file or a function gives names to, and the registries that they fill."""

from __future__ import annotations

import ast
from typing import Any

from modellint.static.flow.machine import Machine, Statements
from modellint.static.flow.names import symbol_value
from modellint.static.flow.state import State
from modellint.static.flow.targets import christen, class_home
from modellint.static.flow.values import NONE, NOTHING, Args, ClassValue, FunctionValue, Value
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo
from modellint.static.project.facts import imported_by
from modellint.static.project.names import last_name
from modellint.static.project.trees import rows_of


def _function(machine: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef, state: State) -> list[State]:
    frame = machine.frame
    if frame.function.is_body:  # found by name; a decorator may enter it into a registry
        for made in _one_of_several(machine, node):
            state.variables[frame.id, node.name] = Value(symbols=(FunctionValue(made, None, node.name),))
        own = frame.function.functions.get(node.name)
        if own is not None and own.row == rows_of(node)[0]:  # the last one of that name
            if state.variables.find((frame.id, node.name)) is not None:  # what was assigned to the name before is gone
                state.variables[frame.id, node.name] = Value(symbols=(FunctionValue(own, None, node.name),))
            _register(machine, node, FunctionValue(own, None, node.name, True), state)
    else:
        inner = next((f for f in frame.function.nested if f.node is node), None)
        if inner is not None:
            value = FunctionValue(inner, frame.id, node.name)
            state.variables[frame.id, node.name] = Value(symbols=(value,))
    return [state]


def _class(machine: Machine, node: ast.ClassDef, state: State) -> list[State]:
    frame = machine.frame
    own = frame.function.classes.get(node.name)
    if own is not None and frame.function.is_body:
        for made in _one_of_several(machine, node):
            state.variables[frame.id, node.name] = Value(symbols=(ClassValue(made, node.name),))
        _register(machine, node, ClassValue(own, node.name), state)
        _class_body(machine, node, own, state)
    return [state]


def _one_of_several(machine: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[Any]:
    """Return the function or class that `node` defines, if its file defines the name again elsewhere: cells do."""
    body, module = machine.frame.function, machine.frame.module
    known: dict[str, list[FunctionInfo | ClassInfo]] | None = body.memo.get(_one_of_several)
    if known is None:
        known = body.memo[_one_of_several] = {}
        for function in module.functions:
            if function.parent is body and function.cls is None:
                known.setdefault(function.name, []).append(function)
        for cls in module.classes:
            if cls.scope is body:
                known.setdefault(cls.name, []).append(cls)
    same = known.get(node.name, [])
    rows = node.lineno, rows_of(node)[0]
    return [made for made in same if made.row in rows] if len(same) > 1 else []


def _class_body(machine: Machine, node: ast.ClassDef, cls: ClassInfo, state: State) -> None:
    """Keep the models that the body of a class assigns, its variables that wait for one, and its constants."""
    held: dict[str, Value] = {}
    for statement in node.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and held:
            _in_class_body(machine, statement.value, held, state)
        if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
            continue
        if isinstance(statement.value, (ast.Call, ast.Name, ast.Constant)):
            value = machine.eval(statement.value, state)
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if not isinstance(target, ast.Name):
                    continue
                # what is written in capitals no object changes: `Mode.TRAIN`
                if value.refs or value.symbols or value == NONE or (value.consts and target.id.isupper()):
                    christen(target.id, value, state)
                    state.variables[class_home(machine, cls), target.id] = held[target.id] = value


def _in_class_body(machine: Machine, call: ast.Call, held: dict[str, Value], state: State) -> None:
    """Evaluate a call in the body of a class, where its variables `held` come before those of the file."""
    frame = machine.frame.id
    outer = {name: state.variables.get((frame, name)) for name in held}
    for name, value in held.items():
        state.variables[frame, name] = value
    machine.eval(call, state)
    for name, before in outer.items():
        if before is None:
            del state.variables[frame, name]
        else:
            state.variables[frame, name] = before


def _register(
    machine: Machine,
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
    value: FunctionValue | ClassValue,
    state: State,
) -> None:
    """Run decorators that enter what they decorate into a registry: `@register("small")`, `@MODELS.register()`."""
    for decorator in node.decorator_list if node.decorator_list and machine.frame.module.registers else ():
        name = last_name(decorator)
        if name is not None and "regist" in name:
            call = ast.copy_location(ast.Call(decorator, [], []), decorator)
            registrar = machine.eval(decorator, state)
            if not any(isinstance(s, FunctionValue) and _imports_by_name(s.function.module) for s in registrar.symbols):
                machine.call_value(registrar, Args((Value(symbols=(value,)),)), call, state)


def _imports_by_name(module: ModuleInfo) -> bool:
    """Tell whether a file imports what it is asked for: then its registry holds more than the imports in sight say."""
    return any("import_module" in scope.callees for scope in (module.body, *module.functions))


def _import(machine: Machine, node: ast.Import | ast.ImportFrom, state: State) -> list[State]:
    """An import runs the module; that matters where it fills a registry, or where branches import different things."""
    frame = machine.frame
    for local, imported in imported_by(node):
        if local in frame.function.stores:
            symbol = machine.project.bound_by(frame.module, imported)
            state.variables[frame.id, local] = NOTHING if symbol is None else symbol_value(machine, symbol, state)
    if frame.function.is_body:
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        level = 0 if isinstance(node, ast.Import) else node.level
        for name in names:
            path = machine.project.paths.find(frame.module.path, name, level)
            if path is not None and not path.is_dir():
                module = machine.project.registry(path, frame.module.path)
                if module is not None:
                    machine.ensure_module(module, state)
    return [state]


def _declare(machine: Machine, node: ast.Global | ast.Nonlocal, state: State) -> list[State]:
    kind = "global" if isinstance(node, ast.Global) else "nonlocal"
    machine.frame.declared.update(dict.fromkeys(node.names, kind))
    return [state]


DEFINITIONS: Statements = {
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Global: _declare,
    ast.Nonlocal: _declare,
}
