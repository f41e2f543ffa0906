"""What a class is given when it is built: layers out of its own sight, looked at where they come from."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from modellint.static.dependence import NO, UNKNOWN, YES, Dependence
from modellint.static.guards import assignments, conditions, walk_own
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.facts import parameters
from modellint.static.project.names import dotted_name, last_name

if TYPE_CHECKING:
    from modellint.static.classes import Classes

CONTAINERS = frozenset({"torch.nn.ModuleList", "torch.nn.ModuleDict", "torch.nn.Sequential"})
_DEEPEST = 6


def joined(answers: Iterable[Dependence]) -> Dependence:
    """Return what holds of something with several parts: one that depends on the mode is enough."""
    result = Dependence(NO)
    for answer in answers:
        if answer.answer == YES:
            return answer
        if answer.answer == UNKNOWN:
            open_too = result.answer == UNKNOWN and not result.hangs_on
            hangs_on = frozenset[str]() if open_too or not answer.hangs_on else result.hangs_on | answer.hangs_on
            amounts, hints = result.amounts | answer.amounts, result.hints or answer.hints
            result = Dependence(UNKNOWN, "", hangs_on, amounts, hints)
    return result


def of_call(classes: Classes, cls: ClassInfo, call: ast.Call, scope: FunctionInfo, depth: int = 0) -> Dependence:
    """Tell whether what `call` builds depends on the mode, where that hangs on the arguments that `cls` keeps."""
    built = classes.dependence(cls)
    init = classes.project.method(cls, "__init__")
    if not (built.hangs_on or built.amounts) or init is None or depth > _DEEPEST:
        return built
    starred = any(isinstance(a, ast.Starred) for a in call.args)
    spread = starred or any(k.arg is None for k in call.keywords)
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    answers = [] if built.hangs_on else [Dependence(UNKNOWN, hints=built.hints)]
    for index, (parameter, default) in enumerate(list(parameters(init))[1:]):
        if parameter.arg in built.hangs_on or parameter.arg in built.amounts:
            placed = call.args[index] if index < len(call.args) and not starred else None
            node = given.get(parameter.arg, placed)
            if node is not None and parameter.arg in built.amounts:
                answers.append(of_amount(node, scope))
            elif node is not None:
                answers.append(_of_value(classes, node, scope, depth + 1))
            elif spread:
                answers.append(Dependence(UNKNOWN))
            else:
                answers.append(_of_value(classes, default, init, depth + 1) if default else Dependence(UNKNOWN))
    return joined(answers)


def left_off(function: FunctionInfo, call: ast.Call) -> frozenset[str]:
    """Return the options of `function` that are off unless a caller wants them, and that `call` leaves so."""
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(k.arg is None for k in call.keywords):
        return frozenset()
    given = {keyword.arg for keyword in call.keywords}
    options = list(parameters(function))[len(call.args) :]
    return frozenset(p.arg for p, default in options if _is_false(default) and p.arg not in given)


def _is_false(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def is_asked_for(function: FunctionInfo, call: ast.Call, options: frozenset[str]) -> bool:
    """Tell whether `call` happens only where one of `options` is on."""
    return any(holds and isinstance(t, ast.Name) and t.id in options for t, holds in conditions(function, call))


def open_amount(node: ast.expr | None, scope: FunctionInfo) -> str | None:
    """Return the parameter of `scope` that `node` is, where it is zero or None unless a caller gives a number."""
    if not isinstance(node, ast.Name):
        return None
    default = next((default for parameter, default in parameters(scope) if parameter.arg == node.id), None)
    is_off = isinstance(default, ast.Constant) and type(default.value) in (int, float, type(None)) and not default.value
    return node.id if is_off else None


def of_amount(node: ast.expr | None, scope: FunctionInfo) -> Dependence:
    """Tell whether a dropout of the chance `node` depends on the mode: at zero it does not."""
    if isinstance(node, ast.Constant) and node.value in (0, None, False):
        return Dependence(NO)
    name = open_amount(node, scope)
    if name is None:
        return Dependence(YES, "Dropout")
    mine = frozenset({name}) if scope.name == "__init__" else frozenset[str]()
    return Dependence(UNKNOWN, "", mine, mine)


def _of_value(classes: Classes, node: ast.expr, scope: FunctionInfo, depth: int) -> Dependence:
    """Tell whether a layer, or what makes one, depends on the mode."""
    if depth > _DEEPEST:
        return Dependence(UNKNOWN)
    match node:
        case ast.Constant():
            return Dependence(NO)
        case ast.IfExp():
            parts = [node.body, node.orelse]
        case ast.BoolOp():
            parts = node.values
        case ast.List() | ast.Tuple():
            parts = node.elts
        case ast.Subscript(value=ast.Dict(values=values)):
            parts = values
        case ast.Attribute(value=ast.Name(id=owner)) if owner == scope.self_name and scope.cls is not None:
            return of_attribute(classes, node.attr, scope, depth)
        case ast.Name() | ast.Attribute():
            return _of_name(classes, node, scope, depth)
        case ast.Call():
            return _of_made(classes, node, scope, depth)
        case _:
            return Dependence(UNKNOWN)
    return joined(_of_value(classes, part, scope, depth + 1) for part in parts)


def of_attribute(classes: Classes, attribute: str, scope: FunctionInfo, depth: int = 0) -> Dependence:
    """Look at everything that the methods of the class assign to an attribute."""
    answers = []
    for owner in classes.project.ancestry(scope.cls)[0] if scope.cls is not None else ():
        for method in owner.methods.values():
            for node in walk_own(method):
                if isinstance(node, ast.Assign) and any(_is_own(t, attribute, method) for t in node.targets):
                    answers.append(_of_value(classes, node.value, method, depth + 1))
    return joined(answers) if answers else Dependence(UNKNOWN)


def _is_own(target: ast.expr, attribute: str, method: FunctionInfo) -> bool:
    return (
        isinstance(target, ast.Attribute)
        and target.attr == attribute
        and isinstance(target.value, ast.Name)
        and target.value.id == method.self_name
    )


def _of_name(classes: Classes, node: ast.expr, scope: FunctionInfo, depth: int) -> Dependence:
    if isinstance(node, ast.Name):
        if any(parameter.arg == node.id for parameter, _ in parameters(scope)):
            hangs_on = frozenset({node.id}) if scope.name == "__init__" else frozenset[str]()
            return Dependence(UNKNOWN, "", hangs_on)
        values = [value for name, value in assignments(scope) if name == node.id]
        if values:
            return joined(_of_value(classes, value, scope, depth + 1) for value in values)
    symbol = classes.project.resolve_in(scope, node)
    if symbol is None:
        return Dependence(UNKNOWN)
    if isinstance(symbol.target, ClassInfo):
        return classes.dependence(symbol.target)
    if isinstance(symbol.target, FunctionInfo):
        return classes.of_function(symbol.target)
    return _of_outside(classes, symbol.dotted, None)


def _of_made(classes: Classes, call: ast.Call, scope: FunctionInfo, depth: int) -> Dependence:
    text = dotted_name(call.func)
    symbol = classes.project.resolve_in(scope, text) if text else None
    if symbol is None:
        return Dependence(UNKNOWN)
    if last_name(call) == "partial" and call.args:
        return _of_value(classes, call.args[0], scope, depth + 1)
    if symbol.dotted in CONTAINERS:
        return joined(_of_value(classes, part, scope, depth + 1) for part in call.args)
    if isinstance(symbol.target, ClassInfo):
        return of_call(classes, symbol.target, call, scope, depth + 1)
    if isinstance(symbol.target, FunctionInfo):
        return classes.of_function(symbol.target, left_off(symbol.target, call))
    return _of_outside(classes, symbol.dotted, call)


def _of_outside(classes: Classes, dotted: str, call: ast.Call | None) -> Dependence:
    """Tell whether a name from outside is, or makes, something that depends on the mode."""
    if dotted.rsplit(".", 1)[-1][:1].islower() and not dotted.startswith("torch."):
        return Dependence(UNKNOWN)
    return classes.of_external(dotted, call)
