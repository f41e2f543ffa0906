"""Follows an expression back to what creates its value: constants, displays, and calls of what lies outside."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from modellint.static.guards import conditions
from modellint.static.origins.callers import activations_of
from modellint.static.origins.calls import CallView, is_generator, views_of
from modellint.static.origins.constructors import heirs
from modellint.static.origins.elements import element, passed_on
from modellint.static.origins.members import of_attribute
from modellint.static.origins.reaching import Definitions, definitions
from modellint.static.origins.splits import asks_for, tells_split
from modellint.static.origins.truth import outcome
from modellint.static.origins.values import ELEMENT, EVERYWHERE, Activation, Origin, Step
from modellint.static.origins.variables import of_name
from modellint.static.project import ClassInfo, FunctionInfo, Project
from modellint.static.project.facts import is_left_to_heirs, parameters
from modellint.static.project.names import dotted_name, last_name

T = TypeVar("T")

MAX_DEPTH = 24
MAX_ORIGINS = 24
MAX_NESTED = 12
MAX_STEPS = 1_500
MAX_FUNCTIONS = 1_000


@dataclass(frozen=True, slots=True)
class _Answer(Generic[T]):
    """What was found of `origin`, which is kept as it is asked for by its parts; `touched` as in `Resolver`.

    `steps` and `nested` are what it takes to find it: steps of the budget, and questions inside each other.
    """

    origin: Origin
    found: T
    touched: frozenset[Path]
    steps: int = 0
    nested: int = 0


class Resolver:
    """Answers for one project. Everything is worked out on demand, within a budget: what it ends stays out of sight.

    An answer is the same whatever was asked before: one that is known costs the steps that it took to find it, and one
    that the budget, or a circle, cut short holds for that question alone.

    `touched` gathers, for whoever asks, the files whose functions were asked for their callers, and the callers' files:
    all others follow from the names in these. What is remembered remembers its own.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self._definitions: dict[FunctionInfo, Definitions] = {}
        self._conditions: dict[ast.AST, list[tuple[ast.expr, bool]]] = {}
        self._splits: dict[ast.expr, bool] = {}
        self.touched: set[Path] = set()
        self._known: dict[object, _Answer[list[Origin]]] = {}
        self._active: set[object] = set()
        self._asked: set[object] = set()
        self._constants: dict[object, _Answer[tuple[object] | None]] = {}
        self._inner: dict[object, _Answer[list[Origin]]] = {}
        self._cuts = 0  # how often a circle or the budget ended something: what was found meanwhile may lack that
        self._steps = 0
        self._reached = 0  # how many questions inside each other there were at most, since somebody looked

    def trim(self) -> bool:
        """Forget everything where much is remembered, which keeps trees in memory; tell whether that happened."""
        if len(self._definitions) < MAX_FUNCTIONS:
            return False
        self._definitions.clear()
        self._conditions.clear()
        self._splits.clear()
        self._known.clear()
        self._constants.clear()
        self._inner.clear()
        return True

    @contextmanager
    def gathering(self) -> Iterator[set[Path]]:
        """Yield what `touched` gathers inside the block; who asks around it gets that, too."""
        around, inside = self.touched, set[Path]()
        self.touched = inside
        try:
            yield inside
        finally:
            around |= inside
            self.touched = around

    def definitions(self, function: FunctionInfo) -> Definitions:
        """Return the assignments of `function`."""
        if function not in self._definitions:
            self._definitions[function] = definitions(function)
        return self._definitions[function]

    # -- origins -------------------------------------------------------------------------------------------

    def origins(self, origin: Origin) -> list[Origin]:
        """Return where the value of `origin` may come from; empty where that is out of sight."""
        key = (origin.scope, origin.key)
        if not self._active and key in self._known:
            return self._again(self._known[key], origin)
        if key in self._active or len(self._active) >= MAX_NESTED:
            self._cuts += 1
            return []
        exact = (key, origin.activation.identity)
        if exact in self._inner and self._affords(self._inner[exact]):
            return self._again(self._inner[exact], origin)
        if not self._active:
            self._steps = 0
        cuts, steps, reached = self._cuts, self._steps, self._reached
        self._active.add(key)
        self._reached = level = len(self._active)
        try:
            with self.gathering() as touched:
                bare = replace(origin, names=frozenset(), unsure=False)
                found: dict[object, Origin] = {}
                for one in self.follow(bare, 0, frozenset()):
                    found.setdefault(one.key, one)
                    if len(found) >= MAX_ORIGINS:
                        break
        finally:
            self._active.discard(key)
            nested = self._reached - level + 1
            self._reached = max(reached, self._reached)
        made = _Answer(origin, list(found.values()), frozenset(touched), self._steps - steps, nested)
        if not self._active:
            self._known[key] = made
        if self._cuts == cuts:
            self._inner[exact] = made
        return self._again(made, origin)

    def _affords(self, answer: _Answer[T]) -> bool:
        """Tell whether what is known could be found here, too, within the budget, and take it off that if so."""
        level = len(self._active)
        if level and (self._steps + answer.steps > MAX_STEPS or level + answer.nested > MAX_NESTED):
            return False
        self._steps += answer.steps
        self._reached = max(self._reached, level + answer.nested)
        return True

    def _again(self, made: _Answer[list[Origin]], origin: Origin) -> list[Origin]:
        """Return the origins that were found before, for `origin`."""
        self.touched |= made.touched
        return [one.along((), origin.names, origin.unsure) for one in made.found]

    def follow(self, origin: Origin, depth: int, seen: frozenset[object]) -> Iterator[Origin]:
        """Yield where the value of `origin` comes from; `depth` and `seen` tell how this got here."""
        node = origin.node
        self._steps += 1
        if node is None:
            return
        key = origin.key
        if depth > MAX_DEPTH or key in seen or self._steps > MAX_STEPS:
            self._cuts += 1
            return
        seen |= {key}
        sources = self._sources(origin, node, depth, seen)
        if sources is None:
            yield origin
            return
        for source in sources:
            if source.symbol is not None and source.node is node:
                yield source
            else:
                yield from self.follow(source, depth + 1, seen)

    def _sources(self, origin: Origin, node: ast.expr, depth: int, seen: frozenset[object]) -> Iterable[Origin] | None:
        """Return where the value of `origin` may come from, one step back; None where it is made there."""
        if isinstance(node, ast.Name):
            return of_name(self, origin, node)
        if isinstance(node, ast.Attribute):
            return of_attribute(self, origin, node, depth, seen)
        if isinstance(node, ast.Subscript):
            step = self._step(origin.at(node.slice))
            return [origin.at(node.value).along((step, *origin.path))]
        if isinstance(node, ast.IfExp):
            known = self.truth(origin.at(node.test))
            unsure = known is None and self._tells_split(node.test) and not asks_for(node.test, node.body)
            branches = ((node.body, True), (node.orelse, False))
            return [origin.at(n).along(origin.path, unsure=unsure) for n, k in branches if known in (None, k)]
        if isinstance(node, ast.BoolOp):
            return [origin.at(value).along(origin.path) for value in node.values]
        if isinstance(node, (ast.NamedExpr, ast.Await, ast.Starred)):
            return [origin.at(node.value).along(origin.path)]
        if isinstance(node, ast.Call):
            return self._call(origin, node, depth)
        return element(origin, node) if origin.path else None

    def way(self, used: Origin, made: Origin) -> list[Origin]:
        """Return the expressions that a value goes through from `used` back to `made`, one of its origins, with both.

        None is told between the two where the budget ends the search.
        """
        self._steps = 0
        return self._way(used, made.key, 0, set()) or [used, made]

    def _way(self, origin: Origin, made: object, depth: int, tried: set[object]) -> list[Origin]:
        if origin.key == made:
            return [origin]
        self._steps += 1
        spent = depth > MAX_DEPTH or self._steps > MAX_STEPS or origin.key in tried
        tried.add(origin.key)
        sources = None if spent or origin.node is None else self._sources(origin, origin.node, depth, frozenset())
        for source in sources or ():
            if found := self._way(source, made, depth + 1, tried):
                return [origin, *found]
        return []

    def own_class(self, origin: Origin, owner: ast.expr) -> ClassInfo | None:
        """Return the class whose instance `owner` is, where it is the first parameter of a method around it."""
        if not isinstance(owner, ast.Name):
            return None
        scope: FunctionInfo | None = origin.scope
        while scope is not None:
            if scope.self_name == owner.id:
                return scope.cls
            scope = scope.parent
        return None

    def constructed(self, origin: Origin) -> ClassInfo | None:
        """Return the project class that a call constructs."""
        if not isinstance(origin.node, ast.Call) or origin.path:
            return None
        symbol = self.project.resolve_in(origin.scope, origin.node.func)
        return symbol.target if symbol is not None and isinstance(symbol.target, ClassInfo) else None

    def instance(self, cls: ClassInfo, receiver: Origin | None) -> Activation:
        """Return the activation of the constructor of `cls` in the call `receiver`."""
        view = self.view(receiver) if receiver is not None else None
        if view is None:
            return replace(EVERYWHERE, receiver=receiver)
        init = self.project.method(cls, "__init__")
        if init is not None:
            bound = view.bound_to(init, 1)
        else:
            bound = {**dict(zip(cls.fields, view.positional, strict=False)), **view.keywords}
        depth = 0 if view.opaque else 1
        return Activation((id(view.node), *view.origin.activation.key), bound, receiver, depth=depth)

    # -- calls ---------------------------------------------------------------------------------------------

    def view(self, origin: Origin) -> CallView | None:
        """Return the call that `origin` is, None if it is none."""
        views = self.views(origin)
        return views[0] if views else None

    def views(self, origin: Origin) -> list[CallView]:
        """Return the call that `origin` is, once for everything that may be called there."""
        return views_of(self, origin)

    def _call(self, origin: Origin, node: ast.Call, depth: int) -> list[Origin] | None:
        """Return what a call returns, None where it creates something itself."""
        if depth > MAX_DEPTH // 2:
            return None
        if id(node) in origin.activation.key:
            return []  # a function that calls itself adds nothing to what it returns otherwise
        name = last_name(node.func)
        if isinstance(node.func, ast.Attribute):
            methods = self.methods(origin, node.func)
            if any(is_generator(method) for method, _ in methods):
                return None
            if methods:
                return [o.like(origin) for m, a in methods for o in self._call_returns(origin, m, a)]
        passed = passed_on(origin, node, self._step)
        if passed is not None:
            return passed
        results: list[Origin] = []
        inside = False
        for view in self.views(origin):
            target = view.callee.symbol.target if view.callee.symbol is not None else None
            if isinstance(target, FunctionInfo) and not is_generator(target):
                inside = True
                results += [o.like(origin) for o in self.returned(target, self.activation(view, target))]
            elif name == "dict" and origin.path and origin.path[0] in {repr(k) for k in view.keywords}:
                key = str(origin.path[0])[1:-1]
                return [view.keywords[key].along(origin.path[1:])]
        return results if inside else None

    def _call_returns(self, origin: Origin, method: FunctionInfo, receiver: Origin | None) -> list[Origin]:
        view = self.view(origin)
        assert view is not None
        return self.returned(method, self.activation(view, method, receiver))

    def activation(self, view: CallView, function: FunctionInfo, receiver: Origin | None = None) -> Activation:
        """Return the activation of `function` in the call `view`."""
        by_class = not function.is_classmethod and self._asked_class(view.origin.scope, view.node.func) is not None
        unbound = function.cls is None or function.is_static or by_class
        caller = view.origin.activation
        outer = caller if function.parent is view.origin.scope else None
        depth = 0 if view.opaque else 1
        bound = view.bound_to(function, 0 if unbound else 1)
        return Activation((id(view.node), *caller.key), bound, receiver, outer, depth, view.origin)

    def _asked_class(self, scope: FunctionInfo, func: ast.expr) -> ClassInfo | None:
        """Return the project class whose method is called by its name: `Trainer.validate(model, loader)`."""
        dotted = dotted_name(func.value) if isinstance(func, ast.Attribute) else None
        if dotted is None:
            return None
        first = dotted.partition(".")[0]
        around: FunctionInfo | None = scope
        while around is not None:
            if first in around.stores or any(argument.arg == first for argument, _ in parameters(around)):
                return None  # a variable hides the class, an instance perhaps
            around = around.parent
        symbol = self.project.resolve_in(scope, dotted)
        return symbol.target if symbol is not None and isinstance(symbol.target, ClassInfo) else None

    def methods(self, origin: Origin, func: ast.Attribute) -> list[tuple[FunctionInfo, Origin | None]]:
        """Return the project's methods that `func` may be, each with the construction of its instance."""
        own = self.own_class(origin, func.value)
        if own is not None:
            receiver = origin.activation.receiver
            made = self.constructed(receiver) if receiver is not None else None
            method = self.project.method(made or own, func.attr)
            if made is None and (method is None or is_left_to_heirs(method)):
                others: list[FunctionInfo] = []
                for heir, _ in heirs(self, own):
                    other = self.project.method(heir, func.attr)
                    if other is not None and other is not method and other not in others:
                        others.append(other)
                    if len(others) > 1:
                        return []  # each heir has its own
                return [(other, None) for other in others]
            return [(method, receiver)] if method is not None else []
        if self.project.resolve_in(origin.scope, func) is not None:
            return []
        asked = self._asked_class(origin.scope, func)
        if asked is not None:
            method = self.project.method(asked, func.attr)
            return [(method, None)] if method is not None and not _is_given_self(origin) else []
        found: list[tuple[FunctionInfo, Origin | None]] = []
        for owner in self.origins(origin.at(func.value)):
            cls = self.constructed(owner)
            method = self.project.method(cls, func.attr) if cls is not None else None
            if method is not None:
                found.append((method, owner))
        return found

    def returned(self, function: FunctionInfo, activation: Activation) -> list[Origin]:
        """Return what `function` may return in `activation`, not followed any further."""
        found = []
        for value in self.definitions(function).returns:
            holds, sure = self.holds(function, value, activation, None)
            if holds:
                found.append(Origin(value, function, activation, unsure=not sure))
        return found

    def activations(self, function: FunctionInfo) -> list[Activation]:
        """Return one activation for every call of `function` in sight; `EVERYWHERE` alone where there is none."""
        return activations_of(self, function)[:MAX_ORIGINS] or [EVERYWHERE]

    # -- constants -----------------------------------------------------------------------------------------

    def constant(self, origin: Origin) -> tuple[object] | None:
        """Return the one constant that `origin` must be, in a tuple; None where it can be anything else."""
        if isinstance(origin.node, ast.Constant):
            return (origin.node.value,)
        key = (origin.scope, origin.key)
        if key in self._asked:  # `x = x or y` goes round in a circle
            self._cuts += 1
            return None
        exact = (key, origin.activation.identity, not self._active)
        if exact in self._constants and self._affords(self._constants[exact]):
            self.touched |= self._constants[exact].touched
            return self._constants[exact].found
        cuts, steps, reached = self._cuts, self._steps, self._reached
        self._reached = level = len(self._active)
        self._asked.add(key)
        try:
            with self.gathering() as touched:
                result = outcome(self, origin)
        finally:
            self._asked.discard(key)
            nested = self._reached - level
            self._reached = max(reached, self._reached)
        if self._cuts == cuts:
            self._constants[exact] = _Answer(origin, result, frozenset(touched), self._steps - steps, nested)
        return result

    def truth(self, origin: Origin) -> bool | None:
        """Return whether a condition holds, None where that is not known."""
        known = self.constant(origin)
        return None if known is None else bool(known[0])

    def conditions(self, scope: FunctionInfo, node: ast.AST) -> list[tuple[ast.expr, bool]]:
        """Return the conditions under which `node` of `scope` runs, with whether each must hold or must not."""
        if node not in self._conditions:
            self._conditions[node] = list(conditions(scope, node))
        return self._conditions[node]

    def runs(self, scope: FunctionInfo, node: ast.AST, activation: Activation) -> bool:
        """Tell whether `node` may run in `activation`: no condition around it is known to fail."""
        for test, holds in self.conditions(scope, node):
            known = self.truth(Origin(test, scope, activation))
            if known is not None and known is not holds:
                return False
        return True

    def holds(
        self, scope: FunctionInfo, node: ast.AST, activation: Activation, use: ast.AST | None
    ) -> tuple[bool, bool]:
        """Tell whether `node` may run in `activation`, and whether that is sure as far as mode and split go.

        Conditions around the `use` of what it defines as well say nothing.
        """
        shared: set[int] | None = None
        sure = True
        for test, holds in self.conditions(scope, node):
            if shared is None:
                shared = {id(t) for t, _ in self.conditions(scope, use)} if use is not None else set()
            if id(test) in shared:
                continue
            known = self.truth(Origin(test, scope, activation))
            if known is None:
                sure = sure and (not self._tells_split(test) or asks_for(test, node))
            elif known is not holds:
                return False, True
        return True, sure

    def _tells_split(self, test: ast.expr) -> bool:
        """Tell whether a condition asks which part of the work, or of the data, this is."""
        if test not in self._splits:
            self._splits[test] = tells_split(test)
        return self._splits[test]

    def _step(self, index: Origin) -> Step:
        known = self.constant(index)
        if known is None:
            return ELEMENT
        return known[0] if isinstance(known[0], int) else repr(known[0])


def _is_given_self(origin: Origin) -> bool:
    """Tell whether a call hands its own object on: `Base.build(self, data)` is asked of the heir as it is made."""
    first = origin.node.args[0] if isinstance(origin.node, ast.Call) and origin.node.args else None
    return isinstance(first, ast.Name) and first.id == origin.scope.self_name
