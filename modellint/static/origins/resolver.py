"""Follows an expression back to what creates its value: constants, displays, and calls of what lies outside."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from modellint.static.guards import conditions
from modellint.static.origins.callers import activations_of
from modellint.static.origins.calls import CallView, views_of
from modellint.static.origins.elements import element, handed_back
from modellint.static.origins.reaching import Definitions, definitions
from modellint.static.origins.truth import outcome
from modellint.static.origins.values import ELEMENT, EVERYWHERE, Activation, Origin, Step
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo, Project
from modellint.static.project.facts import parameters
from modellint.static.project.names import last_name

MAX_DEPTH = 24
MAX_ORIGINS = 24
MAX_NESTED = 12
MAX_STEPS = 1_500
MAX_FUNCTIONS = 1_000
SPLIT = re.compile(
    r"(?:\b|_)(train\w*|aug\w*|split\w*|phase|mode|stage|subset|partition|part|eval\w*|val|valid\w*|test\w*|infer\w*|pred\w*"
    r"|shuffle\w*|random\w*|tta)(?:\b|_)",
    re.I,
)
"""Words of a condition that tells the data of training from the data of evaluation."""

_AMOUNT = re.compile(r"\b\w*_?(size|ratio|frac\w*|percent\w*|path|paths|dir|file|files|folder|root|csv)\b", re.I)
"""Names of amounts and places of data: whether there is any is asked, not which part of the work this is."""

_SAME_VALUE = frozenset({"list", "tuple", "iter", "deepcopy", "copy", "tqdm", "trange", "prepare", "cycle", "track"})
_HANDS_BACK = frozenset(
    {"prepare", "setup_dataloaders", "prepare_data_loader", "distribute_dataset", "auto_dataloader"}
)


class Resolver:
    """Answers for one project. Everything is worked out on demand, within a budget: what it ends stays out of sight.

    `touched` gathers, for whoever asks, the files whose functions were asked for their callers, and the callers' files:
    all others follow from the names in these. What is remembered remembers its own.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self._definitions: dict[FunctionInfo, Definitions] = {}
        self._conditions: dict[ast.AST, list[tuple[ast.expr, bool]]] = {}
        self.touched: set[Path] = set()
        self._known: dict[object, tuple[Origin, list[Origin], frozenset[Path]]] = {}
        self._active: set[object] = set()
        self._asked: set[object] = set()
        self._constants: dict[object, tuple[Origin, tuple[object] | None, frozenset[Path]]] = {}
        self._inner: dict[object, tuple[Origin, list[Origin], frozenset[Path]]] = {}
        self._cuts = 0  # how often a circle or the budget ended something: what was found meanwhile may lack that
        self._steps = 0

    def trim(self) -> bool:
        """Forget everything where much is remembered, which keeps trees in memory; tell whether that happened."""
        if len(self._definitions) < MAX_FUNCTIONS:
            return False
        self._definitions.clear()
        self._conditions.clear()
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
        if key in self._known:
            return self._again(self._known[key], origin)
        if key in self._active or len(self._active) >= MAX_NESTED:
            self._cuts += 1
            return []
        exact = (key, origin.activation.identity)
        if exact in self._inner:
            return self._again(self._inner[exact], origin)
        if not self._active:
            self._steps = 0
        cuts = self._cuts
        self._active.add(key)
        try:
            with self.gathering() as touched:
                bare = replace(origin, names=frozenset(), unsure=False)
                found: dict[object, Origin] = {}
                for one in self._follow(bare, 0, frozenset()):
                    found.setdefault(one.key, one)
                    if len(found) >= MAX_ORIGINS:
                        break
        finally:
            self._active.discard(key)
        made = origin, list(found.values()), frozenset(touched)
        if not self._active:
            self._known[key] = made
        elif self._cuts == cuts:
            self._inner[exact] = made
        return self._again(made, origin)

    def _again(self, made: tuple[Origin, list[Origin], frozenset[Path]], origin: Origin) -> list[Origin]:
        """Return the origins that were found before, for `origin`."""
        self.touched |= made[2]
        return [one.along((), origin.names, origin.unsure) for one in made[1]]

    def _follow(self, origin: Origin, depth: int, seen: frozenset[object]) -> Iterator[Origin]:
        node = origin.node
        self._steps += 1
        if node is None:
            return
        key = origin.key
        if depth > MAX_DEPTH or key in seen or self._steps > MAX_STEPS:
            self._cuts += 1
            return
        seen |= {key}
        if isinstance(node, ast.Name):
            sources: Iterable[Origin] = self._name(origin, node)
        elif isinstance(node, ast.Attribute):
            sources = self._attribute(origin, node, depth, seen)
        elif isinstance(node, ast.Subscript):
            step = self._step(origin.at(node.slice))
            sources = [origin.at(node.value).along((step, *origin.path))]
        elif isinstance(node, ast.IfExp):
            known = self.truth(origin.at(node.test))
            unsure = known is None and _tells_split(node.test) and not _asks_for(node.test, node.body)
            branches = ((node.body, True), (node.orelse, False))
            sources = [origin.at(n).along(origin.path, unsure=unsure) for n, k in branches if known in (None, k)]
        elif isinstance(node, ast.BoolOp):
            sources = [origin.at(value).along(origin.path) for value in node.values]
        elif isinstance(node, (ast.NamedExpr, ast.Await, ast.Starred)):
            sources = [origin.at(node.value).along(origin.path)]
        elif isinstance(node, ast.Call):
            inner = self._call(origin, node, depth, seen)
            if inner is None:
                yield origin
                return
            sources = inner
        elif origin.path:
            sources = element(origin, node)
        else:
            yield origin
            return
        for source in sources:
            if source.symbol is not None and source.node is node:
                yield source
            else:
                yield from self._follow(source, depth + 1, seen)

    def _name(self, origin: Origin, node: ast.Name) -> Iterator[Origin]:
        name = node.id
        scope: FunctionInfo | None = origin.scope
        activation: Activation | None = origin.activation
        use: ast.AST | None = node
        while scope is not None:
            current = activation or EVERYWHERE
            if name in current.bindings:
                bound = current.bindings[name]
                yield bound.along(origin.path, origin.names | {name}, origin.unsure)
                return
            if name == scope.self_name and current.receiver is not None:
                yield current.receiver.like(origin)
                return
            known = self.definitions(scope).reaching(name, use)
            if known and origin.path:
                yield from self._items(origin, scope, current, name)
            if known:
                for definition in known:
                    holds, sure = self._holds(scope, definition.value, current, use)
                    if holds:
                        made = Origin(
                            definition.value, scope, current, definition.path, None, frozenset({name}), not sure
                        )
                        yield made.like(origin)
                return
            if name in scope.functions or name in scope.classes:
                break
            given = next(((a, d) for a, d in parameters(scope) if a.arg == name), None)
            if given is not None:
                if current is not EVERYWHERE and current.depth:  # the call is known and leaves it out
                    if given[1] is not None and scope.parent is not None:
                        yield Origin(given[1], scope.parent, names=frozenset({name})).like(origin)
                else:
                    yield from self._from_callers(scope, name, current, origin)
                return
            scope, activation, use = scope.parent, current.outer, None
        symbol = self.project.resolve_in(origin.scope, node)
        if symbol is None:
            return
        if symbol.variable is not None and isinstance(symbol.target, ModuleInfo):
            yield from self._global(symbol.target, symbol.variable, origin)
        else:
            yield replace(origin, symbol=symbol)

    def _items(self, origin: Origin, scope: FunctionInfo, current: Activation, name: str) -> Iterator[Origin]:
        """Yield what was stored under the first step of the path: `loaders["val"] = ...`."""
        step, rest = origin.path[0], origin.path[1:]
        for key, definition in self.definitions(scope).items.get(name, ()):
            if key == step or ELEMENT in (key, step):
                holds, sure = self._holds(scope, definition.value, current, None)
                if holds:
                    made = Origin(definition.value, scope, current, definition.path, None, frozenset({name}), not sure)
                    yield made.along(rest, origin.names | {str(step).strip("'")}, origin.unsure)

    def _global(self, module: ModuleInfo, name: str, origin: Origin) -> Iterator[Origin]:
        for definition in self.definitions(module.body).reaching(name, None):
            sure = self._holds(module.body, definition.value, EVERYWHERE, None)[1]
            yield Origin(
                definition.value, module.body, EVERYWHERE, definition.path, None, frozenset({name}), not sure
            ).like(origin)

    def _from_callers(self, function: FunctionInfo, name: str, current: Activation, origin: Origin) -> Iterator[Origin]:
        for activation in self.activations(function):
            if activation is not EVERYWHERE and name in activation.bindings:
                yield activation.bindings[name].along(origin.path, origin.names | {name}, origin.unsure)

    def _attribute(self, origin: Origin, node: ast.Attribute, depth: int, seen: frozenset[object]) -> Iterator[Origin]:
        symbol = self.project.resolve_in(origin.scope, node)
        shadowed = isinstance(node.value, ast.Name) and bool(self.definitions(origin.scope).names.get(node.value.id))
        if symbol is not None and not shadowed:
            if symbol.variable is not None and isinstance(symbol.target, ModuleInfo):
                yield from self._global(symbol.target, symbol.variable, origin.at(node).along(origin.path))
            else:
                yield replace(origin, symbol=symbol)
            return
        cls = self.own_class(origin, node.value)
        if cls is not None:
            yield from self._of_instance(origin, node, cls, origin.activation.receiver, origin)
            return
        for owner in self._follow(origin.at(node.value), depth + 1, seen):
            target = self._class_of(owner)
            if target is not None:
                yield from self._of_instance(origin, node, target, owner, owner)
        if isinstance(node.value, ast.Name):
            for definition in self.definitions(origin.scope).attributes.get((node.value.id, node.attr), ()):
                yield origin.at(definition.value, node.attr).along((*definition.path, *origin.path))

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

    def _class_of(self, origin: Origin) -> ClassInfo | None:
        """Return the project class that a call constructs."""
        if not isinstance(origin.node, ast.Call) or origin.path:
            return None
        symbol = self.project.resolve_in(origin.scope, origin.node.func)
        return symbol.target if symbol is not None and isinstance(symbol.target, ClassInfo) else None

    def _of_instance(
        self, origin: Origin, node: ast.Attribute, cls: ClassInfo, receiver: Origin | None, owner: Origin
    ) -> Iterator[Origin]:
        """Yield what the attribute of an instance of `cls` may hold; `receiver` is where it was constructed."""
        names = owner.names | {node.attr}
        init = self.instance(cls, receiver)
        for ancestor in self.project.ancestry(cls)[0]:
            for method in ancestor.methods.values():
                if method.self_name is None:
                    continue
                if method.name == node.attr and method.is_property:
                    made = replace(EVERYWHERE, receiver=receiver)
                    yield from (v.along((), names).like(origin) for v in self.returned(method, made))
                for definition in self.definitions(method).attributes.get((method.self_name, node.attr), ()):
                    activation = init if method.name == "__init__" else replace(EVERYWHERE, receiver=receiver)
                    holds, sure = self._holds(method, definition.value, activation, None)
                    if holds:
                        made_here = Origin(definition.value, method, activation, definition.path, None, names, not sure)
                        yield made_here.like(origin)
        if node.attr in cls.fields and node.attr in init.bindings:
            yield init.bindings[node.attr].along((), names).like(origin)

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

    def _call(self, origin: Origin, node: ast.Call, depth: int, seen: frozenset[object]) -> list[Origin] | None:
        """Return what a call returns, None where it creates something itself."""
        if depth > MAX_DEPTH // 2:
            return None
        name = last_name(node.func)
        if isinstance(node.func, ast.Attribute):
            methods = self.methods(origin, node.func)
            if methods:
                return [o.like(origin) for m, a in methods for o in self._call_returns(origin, m, a)]
            if name in _HANDS_BACK and node.args:
                return handed_back(origin, node)
            if name in ("items", "values") and not node.args and origin.path[:1] == (ELEMENT,):
                rest = origin.path[1:]
                if name == "items":
                    rest = rest[1:] if rest[:1] == (1,) else ("",)
                return [origin.at(node.func.value).along((ELEMENT, *rest))]
            if name == "get" and node.args:
                return [origin.at(node.func.value).along((self._step(origin.at(node.args[0])), *origin.path))]
        if name == "enumerate" and node.args and origin.path[:2] == (ELEMENT, 1):
            return [origin.at(node.args[0]).along((ELEMENT, *origin.path[2:]))]
        if name == "zip" and len(origin.path) > 1 and isinstance(origin.path[1], int):
            if origin.path[1] < len(node.args):
                return [origin.at(node.args[origin.path[1]]).along((ELEMENT, *origin.path[2:]))]
        if name == "next" and node.args:
            return [origin.at(node.args[0]).along((ELEMENT, *origin.path))]
        if name in _SAME_VALUE and node.args and not isinstance(node.args[0], ast.Starred):
            return [origin.at(node.args[0]).along(origin.path)]
        results: list[Origin] = []
        inside = False
        for view in self.views(origin):
            target = view.callee.symbol.target if view.callee.symbol is not None else None
            if isinstance(target, FunctionInfo):
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
        skip = 1 if function.cls is not None and not function.is_static else 0
        caller = view.origin.activation
        outer = caller if function.parent is view.origin.scope else None
        depth = 0 if view.opaque else 1
        return Activation((id(view.node), *caller.key), view.bound_to(function, skip), receiver, outer, depth)

    def methods(self, origin: Origin, func: ast.Attribute) -> list[tuple[FunctionInfo, Origin | None]]:
        """Return the project's methods that `func` may be, each with the construction of its instance."""
        own = self.own_class(origin, func.value)
        if own is not None:
            method = self.project.method(own, func.attr)
            return [(method, origin.activation.receiver)] if method is not None else []
        if self.project.resolve_in(origin.scope, func) is not None:
            return []
        found: list[tuple[FunctionInfo, Origin | None]] = []
        for owner in self.origins(origin.at(func.value)):
            cls = self._class_of(owner)
            method = self.project.method(cls, func.attr) if cls is not None else None
            if method is not None:
                found.append((method, owner))
        return found

    def returned(self, function: FunctionInfo, activation: Activation) -> list[Origin]:
        """Return what `function` may return in `activation`, not followed any further."""
        found = []
        for value in self.definitions(function).returns:
            holds, sure = self._holds(function, value, activation, None)
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
        exact = (key, origin.activation.identity)
        if exact in self._constants:
            self.touched |= self._constants[exact][2]
            return self._constants[exact][1]
        cuts = self._cuts
        self._asked.add(key)
        try:
            with self.gathering() as touched:
                result = outcome(self, origin)
        finally:
            self._asked.discard(key)
        if self._cuts == cuts:
            self._constants[exact] = origin, result, frozenset(touched)
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

    def _holds(
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
                sure = sure and not _tells_split(test)
            elif known is not holds:
                return False, True
        return True, sure

    def _step(self, index: Origin) -> Step:
        known = self.constant(index)
        if known is None:
            return ELEMENT
        return known[0] if isinstance(known[0], int) else repr(known[0])


def _tells_split(test: ast.expr) -> bool:
    """Tell whether a condition asks which part of the work, or of the data, this is."""
    return SPLIT.search(_AMOUNT.sub("", ast.unparse(test))) is not None


def _asks_for(test: ast.expr, value: ast.expr) -> bool:
    """Tell whether a condition asks whether there is such a value: `held_out if held_out else test`."""
    if isinstance(test, ast.Compare) and isinstance(test.comparators[0], ast.Constant):
        test = test.left
    return ast.dump(test) == ast.dump(value)
