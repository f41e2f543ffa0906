"""What the text of a function says of its calls, whichever file asks: worked out once for a project."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modellint.static.classes import Classes
from modellint.static.fitting import fitted
from modellint.static.flow.handed import CALLERS
from modellint.static.flow.making import makes_something
from modellint.static.flow.running import runs_something
from modellint.static.guards import values_of
from modellint.static.knowledge import Knowledge
from modellint.static.narrowing import attribute_of
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo, Project
from modellint.static.project.facts import parameters
from modellint.static.project.names import arguments_of, last_name


class CallFacts:
    """The functions of one project: whom they call, which may run a model by themselves, which may make one."""

    def __init__(self, project: Project, classes: Classes, knowledge: Knowledge) -> None:
        self._project = project
        self._classes = classes
        self._knowledge = knowledge
        self._runs: dict[FunctionInfo, bool] = {}
        self._makes: dict[FunctionInfo, bool] = {}
        self._loads: dict[FunctionInfo, bool] = {}
        self._fits: dict[FunctionInfo, bool] = {}
        self._handed: dict[FunctionInfo, frozenset[str]] = {}
        self._callees: dict[FunctionInfo, list[FunctionInfo]] = {}

    def runs(self, function: FunctionInfo) -> bool:
        """Tell whether `function` itself may run or export a model."""
        known = self._runs.get(function)
        if known is None:
            known = self._runs[function] = runs_something(self._project, function, self._knowledge.runs)
        return known

    def makes(self, function: FunctionInfo) -> bool:
        """Tell whether `function` itself may make a model, or hand out or keep one that it is given."""
        known = self._makes.get(function)
        if known is None:
            known = self._makes[function] = makes_something(self._project, self._knowledge, function)
        return known

    def loads(self, function: FunctionInfo) -> bool:
        """Tell whether `function` itself gets a model from a library."""
        known = self._loads.get(function)
        if known is None:
            symbols = (self._project.resolve_in(function, call.func) for call in function.calls)
            found = (symbol is not None and self._knowledge.loaders.get(symbol.dotted) for symbol in symbols)
            known = self._loads[function] = any(found)
        return known

    def fits(self, function: FunctionInfo) -> bool:
        """Tell whether `function` itself has a library's trainer train a model."""
        known = self._fits.get(function)
        if known is None:
            facts = (
                fitted(function, call, self._project, self._classes, self._knowledge)
                for call in function.calls_of("fit")
            )
            known = self._fits[function] = any(model for given in facts for model in given)
        return known

    def handed(self, function: FunctionInfo) -> frozenset[str]:
        """Return the names of the functions of the project that `function` gives to others, who may call them."""
        known = self._handed.get(function)
        if known is None:
            given = (value for call in function.calls for value in arguments_of(call))
            names = (value for value in given if isinstance(value, (ast.Name, ast.Attribute)))
            symbols = (self._project.resolve_in(function, value) for value in names)
            targets = (symbol.target for symbol in symbols if symbol is not None)
            known = frozenset(target.name for target in targets if isinstance(target, FunctionInfo))
            self._handed[function] = known
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
                and (owner := _owner_of(function, func.value.id)) is not None
            ):
                method = self._project.method(owner, func.attr)
                if method is not None:
                    found.append(method)
                continue
            symbol = self._project.resolve_in(function, func)
            if symbol is not None and isinstance(symbol.target, FunctionInfo):
                found.append(symbol.target)
            elif symbol is not None and isinstance(symbol.target, ClassInfo):
                # whoever gets the object may call its methods
                is_module = self._classes.is_module(symbol.target)
                for method in symbol.target.methods.values():
                    if not is_module or (method.name in function.callees and method.name != "forward"):
                        found.append(method)
            else:
                found += self._methods_of_parts(function, func)
                found += self._methods_of_classes(function, func)
                found += self._methods_of_globals(function, func)
        return found + [inner for inner in function.nested if inner.cls is None]

    def _methods_of_parts(self, function: FunctionInfo, called: ast.expr) -> Iterator[FunctionInfo]:
        """Yield the methods that a call means of what the object keeps: `self.job = Job(net)`, and `self.job.go(x)`."""
        kept = attribute_of(called.value, function.self_name or "") if isinstance(called, ast.Attribute) else None
        if kept is None or function.cls is None or not isinstance(called, ast.Attribute):
            return
        for method, value in self._classes.kept_in(function.cls, kept):
            symbol = self._project.resolve_in(method, value.func) if isinstance(value, ast.Call) else None
            if symbol is not None and isinstance(symbol.target, ClassInfo):
                asked = self._project.method(symbol.target, called.attr)
                if asked is not None and not self._classes.is_module(symbol.target):
                    yield asked

    def _methods_of_classes(self, function: FunctionInfo, called: ast.expr) -> Iterator[FunctionInfo]:
        """Yield the method that a call means which names its class: `Net.build(path)`, `super().build(path)`."""
        if not isinstance(called, ast.Attribute):
            return
        owner, families = called.value, list[ClassInfo]()
        if isinstance(owner, ast.Call) and last_name(owner) == "super" and function.cls is not None:
            families = self._project.ancestry(function.cls)[0][1:]
        else:
            symbol = self._project.resolve_in(function, owner)
            if symbol is not None and isinstance(symbol.target, ClassInfo):
                families = [symbol.target]
        methods = (self._project.method(cls, called.attr) for cls in families)
        yield from (method for method in methods if method is not None)

    def _methods_of_globals(self, function: FunctionInfo, called: ast.expr) -> Iterator[FunctionInfo]:
        """Yield the methods that a call means of what a file makes at its top.

        `corpus = Corpus()`, and `corpus.check(net)` in a function.
        """
        owner = called.value if isinstance(called, ast.Attribute) else None
        if not isinstance(called, ast.Attribute) or not isinstance(owner, ast.Name) or function.is_body:
            return
        name, home = owner.id, function.module
        if name in function.stores or any(argument.arg == name for argument, _ in parameters(function)):
            return
        imported = self._project.lookup(home, name)
        if imported is not None and imported.variable is not None and isinstance(imported.target, ModuleInfo):
            name, home = imported.variable, imported.target
        for value in values_of(home.body, name):
            symbol = self._project.resolve(home, value.func) if isinstance(value, ast.Call) else None
            if symbol is not None and isinstance(symbol.target, ClassInfo):
                method = self._project.method(symbol.target, called.attr)
                if method is not None:
                    yield method


def _owner_of(function: FunctionInfo, name: str) -> ClassInfo | None:
    """Return the class whose object `name` is: that of a method, or of the method around a function inside it."""
    scope: FunctionInfo | None = function
    while scope is not None and scope.self_name is None:
        if name in scope.stores or any(argument.arg == name for argument, _ in parameters(scope)):
            return None
        scope = scope.parent
    return scope.cls if scope is not None and scope.self_name == name else None


def _handed_over(call: ast.Call) -> list[ast.expr]:
    """Return the names given to a call that may be functions for it to call."""
    if last_name(call.func) not in CALLERS:
        return []
    given = [*call.args[:2], *(keyword.value for keyword in call.keywords)]
    return [value for value in given if isinstance(value, (ast.Name, ast.Attribute))]
