"""What a name picks: a class out of a table or a module, which the constructor that picks does not know itself."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from modellint.static.dependence import NO, UNKNOWN, YES, Dependence
from modellint.static.given import of_value
from modellint.static.guards import assignments, own, path_to
from modellint.static.narrowing import attribute_of
from modellint.static.project import FunctionInfo, ModuleInfo
from modellint.static.project.names import last_name

if TYPE_CHECKING:
    from modellint.static.classes import Classes


def of_table(classes: Classes, table: ast.expr, call: ast.Call, scope: FunctionInfo) -> Dependence:
    """Tell whether what `call` builds by a class of a table of them depends on the mode: for certain if all do."""
    return _of_table(classes, table, scope, _builds_layers(classes, call, scope))


def of_picked(classes: Classes, package: ast.expr, call: ast.Call, scope: FunctionInfo) -> Dependence:
    """Tell whether what `call` builds by a name of a module, `getattr(models, arch)`, depends on the mode.

    Of a library's loaders it most likely does. Of classes in sight it does for certain where all of them do.
    """
    return _of_package(classes, package, scope, _builds_layers(classes, call, scope))


def _builds_layers(classes: Classes, call: ast.Call, scope: FunctionInfo) -> bool:
    """Tell whether a module builds several of its parts by one call: in a loop, or in a method of its own for that."""
    if scope.cls is None or not classes.is_module(scope.cls):
        return False
    return scope.name != "__init__" or any(isinstance(node, _LOOPS) for node in path_to(scope, call))


_LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.DictComp)


def _of_table(classes: Classes, table: ast.expr, scope: FunctionInfo, layers: bool) -> Dependence:
    if isinstance(table, ast.Dict):
        return _whichever([of_value(classes, value, scope, 0) for value in table.values], layers)
    if (package := _package_of(table)) is not None:
        found = _of_package(classes, package, scope, layers)
        return found if found.answer != NO else Dependence(UNKNOWN)
    attribute = attribute_of(table, scope.self_name or "")
    if attribute is not None and scope.cls is not None:
        kept = classes.kept_in(scope.cls, attribute)
        return _of_made(classes, kept[0][1], kept[0][0], layers) if len(kept) == 1 else Dependence(NO)
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
    return _of_table(classes, made[0], scope, layers)


def _of_made(classes: Classes, made: ast.expr, scope: FunctionInfo, layers: bool) -> Dependence:
    """Tell it of a table that an object keeps: written there, or made by a function of the classes of a module."""
    if isinstance(made, ast.Dict):
        return _of_table(classes, made, scope, layers)
    symbol = classes.project.resolve_in(scope, made.func) if isinstance(made, ast.Call) else None
    maker = symbol.target if symbol is not None else None
    if not isinstance(maker, FunctionInfo):
        return Dependence(NO)  # a ModuleDict, of modules that were built before
    packages = (_package_of(loop.iter) for loop in own(maker, ast.For))
    found = (_of_package(classes, package, maker, layers) for package in packages if package is not None)
    return next(found, Dependence(NO))


def _of_package(classes: Classes, package: ast.expr, scope: FunctionInfo, layers: bool) -> Dependence:
    symbol = classes.project.resolve_in(scope, package)
    if symbol is None:
        return Dependence(NO)  # of an object: a method, an option
    if isinstance(symbol.target, ModuleInfo) and symbol.variable is None:
        built = [classes.dependence(cls) for cls in symbol.target.classes if classes.is_module(cls)]
        return _whichever(built, layers) if built else Dependence(UNKNOWN)
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


def _whichever(found: list[Dependence], layers: bool) -> Dependence:
    """Return what can be said of one of several classes, whichever it is; or of many `layers`, each of one of them."""
    if all(one.answer == NO for one in found):
        return Dependence(NO)
    if all(one.is_certain for one in found):
        return found[0]
    number = sum(one.answer == YES for one in found)
    return Dependence(UNKNOWN, hints=number > 0 if layers else 2 * number > len(found))
