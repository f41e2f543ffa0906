"""What a name picks: a class out of a table or a module, which the constructor that picks does not know itself."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from modellint.static.dependence import NO, UNKNOWN, YES, Dependence
from modellint.static.given import of_value
from modellint.static.guards import assignments, own
from modellint.static.narrowing import attribute_of
from modellint.static.project import FunctionInfo, ModuleInfo
from modellint.static.project.names import last_name

if TYPE_CHECKING:
    from modellint.static.classes import Classes


def of_table(classes: Classes, table: ast.expr, scope: FunctionInfo) -> Dependence:
    """Tell whether any of the classes in a table of them depends on the mode: for certain where all of them do."""
    if isinstance(table, ast.Dict):
        return _whichever([of_value(classes, value, scope, 0) for value in table.values], classes, scope)
    if (package := _package_of(table)) is not None:
        picked = of_picked(classes, package, scope)
        return picked if picked.answer != NO else Dependence(UNKNOWN)
    attribute = attribute_of(table, scope.self_name or "")
    if attribute is not None and scope.cls is not None:
        kept = classes.kept_in(scope.cls, attribute)
        return _of_made(classes, kept[0][1], kept[0][0]) if len(kept) == 1 else Dependence(NO)
    symbol = classes.project.resolve_in(scope, table)
    variable = last_name(table)
    if symbol is not None and isinstance(symbol.target, ModuleInfo):
        scope, variable = symbol.target.body, symbol.variable
    made = [value for name, value in assignments(scope) if name == variable]
    if not made and not scope.is_body:
        scope = scope.module.body
        made = [value for name, value in assignments(scope) if name == variable]
    if not made:
        return Dependence(NO)  # elements of something local: functions, say
    if len(made) != 1 or not isinstance(made[0], ast.Dict):
        return Dependence(UNKNOWN)
    return of_table(classes, made[0], scope)


def _of_made(classes: Classes, made: ast.expr, scope: FunctionInfo) -> Dependence:
    """Tell it of a table that an object keeps: written there, or made by a function of the classes of a module."""
    if isinstance(made, ast.Dict):
        return of_table(classes, made, scope)
    symbol = classes.project.resolve_in(scope, made.func) if isinstance(made, ast.Call) else None
    maker = symbol.target if symbol is not None else None
    if not isinstance(maker, FunctionInfo):
        return Dependence(NO)  # a ModuleDict, of modules that were built before
    for loop in own(maker, ast.For):
        if (package := _package_of(loop.iter)) is not None:
            return of_picked(classes, package, maker)
    return Dependence(NO)


def of_picked(classes: Classes, package: ast.expr, scope: FunctionInfo) -> Dependence:
    """Tell whether what a name picks out of a module, `getattr(models, arch)`, builds what depends on the mode.

    Of a library's loaders it most likely does. Of classes in sight it does for certain where all of them do.
    """
    symbol = classes.project.resolve_in(scope, package)
    if symbol is None:
        return Dependence(NO)  # of an object: a method, an option
    if isinstance(symbol.target, ModuleInfo) and symbol.variable is None:
        built = [classes.dependence(cls) for cls in symbol.target.classes if classes.is_module(cls)]
        return _whichever(built, classes, scope) if built else Dependence(UNKNOWN)
    loads = symbol.target is None and classes.knowledge.loaders.get(f"{symbol.dotted}.any") is not None
    return Dependence(UNKNOWN, hints=True) if loads else Dependence(NO)


def _package_of(table: ast.expr) -> ast.expr | None:
    """Return the module whose names `table` holds: `models.__dict__`, `vars(models)`, `inspect.getmembers(models)`."""
    if isinstance(table, ast.Call) and isinstance(table.func, ast.Attribute) and table.func.attr == "items":
        table = table.func.value
    if isinstance(table, ast.Attribute) and table.attr == "__dict__":
        return table.value
    if isinstance(table, ast.Call) and last_name(table.func) in ("vars", "getmembers") and table.args:
        return table.args[0]
    return None


def _whichever(found: list[Dependence], classes: Classes, scope: FunctionInfo) -> Dependence:
    """Return what can be said of one of several, whichever it is; in a module, of several of them as its layers."""
    if all(one.answer == NO for one in found):
        return Dependence(NO)
    if all(one.is_certain for one in found):
        return found[0]
    number = sum(one.answer == YES for one in found)
    of_layers = scope.cls is not None and classes.is_module(scope.cls)
    return Dependence(UNKNOWN, hints=number > 0 if of_layers else 2 * number >= len(found))
