"""What the text of a function says of its calls, whichever file asks: worked out once for a project."""

from __future__ import annotations

import ast

from modellint.static.classes import Classes
from modellint.static.flow.handed import CALLERS
from modellint.static.flow.making import makes_something
from modellint.static.flow.running import runs_something
from modellint.static.knowledge import Knowledge
from modellint.static.project import ClassInfo, FunctionInfo, Project
from modellint.static.project.names import asked_of_super, last_name


class CallFacts:
    """The functions of one project: whom they call, which may run a model by themselves, which may make one."""

    def __init__(self, project: Project, classes: Classes, knowledge: Knowledge) -> None:
        self._project = project
        self._classes = classes
        self._knowledge = knowledge
        self._runs: dict[FunctionInfo, bool] = {}
        self._makes: dict[FunctionInfo, bool] = {}
        self._callees: dict[FunctionInfo, list[FunctionInfo]] = {}
        self._made: dict[FunctionInfo, tuple[list[ClassInfo], list[FunctionInfo]]] = {}

    def runs(self, function: FunctionInfo) -> bool:
        """Tell whether `function` itself may run or export a model."""
        known = self._runs.get(function)
        if known is None:
            known = self._runs[function] = runs_something(self._project, function)
        return known

    def makes(self, function: FunctionInfo) -> bool:
        """Tell whether `function` itself may make a model, or hand out or keep one that it is given."""
        known = self._makes.get(function)
        if known is None:
            known = self._makes[function] = makes_something(self._project, self._knowledge, function)
        return known

    def callees(self, function: FunctionInfo) -> list[FunctionInfo]:
        """Return the functions of the project that `function` calls, or that others may call for it."""
        known = self._callees.get(function)
        if known is None:
            known = self._callees[function] = self._find_callees(function)
        return known

    def _find_callees(self, function: FunctionInfo) -> list[FunctionInfo]:
        found = []
        called = [call.func for call in function.calls]
        if not CALLERS.isdisjoint(function.callees):
            called += [given for call in function.calls for given in _handed_over(call)]
        for func in called:
            if (
                isinstance(func, ast.Attribute)
                and isinstance(func.value, ast.Name)
                and func.value.id == function.self_name
            ):
                method = self._project.method(function.cls, func.attr) if function.cls else None
                if method is not None:
                    found.append(method)
                continue
            if (name := asked_of_super(func)) is not None:
                above = self._project.ancestry(function.cls)[0][1:] if function.cls is not None else []
                found += [base.methods[name] for base in above if name in base.methods][:1]
                continue
            symbol = self._project.resolve_in(function, func)
            if symbol is not None and isinstance(symbol.target, FunctionInfo):
                found.append(symbol.target)
            elif symbol is not None and isinstance(symbol.target, ClassInfo):
                if not self._classes.is_module(symbol.target):
                    found += symbol.target.methods.values()  # whoever gets the object may call its methods
        for cls in self._modules_made(function):
            methods = (self._project.method(cls, name) for name in function.callees if name != "forward")
            found += [method for method in methods if method is not None and not method.name.startswith("__")]
        return found + [inner for inner in function.nested if inner.cls is None]

    def _modules_made(self, function: FunctionInfo) -> list[ClassInfo]:
        """Return the modules that a function makes, by their classes, their methods, or functions that make them."""
        found: dict[ClassInfo, None] = {}
        makers = {function: None}
        for _ in range(_MAX_MAKERS):
            for maker in list(makers):
                classes, functions = self._made_by(maker)
                found |= dict.fromkeys(classes)
                makers |= dict.fromkeys(functions)
        return list(found)

    def _made_by(self, function: FunctionInfo) -> tuple[list[ClassInfo], list[FunctionInfo]]:
        """Return the classes of modules that a function asks for an object, and the functions that it calls."""
        known = self._made.get(function)
        if known is None:
            named = [call.func for call in function.calls]
            named += [func.value for func in named if isinstance(func, ast.Attribute)]
            symbols = (self._project.resolve_in(function, func) for func in named)
            targets = [symbol.target for symbol in symbols if symbol is not None]
            classes = [
                target for target in targets if isinstance(target, ClassInfo) and self._classes.is_module(target)
            ]
            known = self._made[function] = classes, [target for target in targets if isinstance(target, FunctionInfo)]
        return known


_MAX_MAKERS = 3
"""So many functions may hand an object on: `build()`, which calls `load()`, which constructs it."""


def _handed_over(call: ast.Call) -> list[ast.expr]:
    """Return the names given to a call that may be functions for it to call."""
    if last_name(call.func) not in CALLERS:
        return []
    given = [*call.args[:2], *(keyword.value for keyword in call.keywords)]
    return [value for value in given if isinstance(value, (ast.Name, ast.Attribute))]
