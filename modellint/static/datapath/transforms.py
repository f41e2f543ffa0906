"""Random transforms: found in what a data set, a pipeline or a variable was made of."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from modellint.static.guards import walk_own
from modellint.static.origins import Activation, CallView, Origin, Resolver
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.names import arguments_of, last_name
from modellint.static.project.trees import walk

MAX_DEPTH = 14
_READS = ("__getitem__", "__iter__", "__getitems__", "get", "process", "_transform", "__call__", "forward")
_HOLDS = ("__getitem__", "__iter__", "__getitems__")
_APPLIED = ("__call__", "forward")
_GUARD = re.compile(
    r"(?:\b|_)(train\w*|aug\w*|split\w*|phase|mode|stage|eval\w*|val|test\w*|infer\w*|random|rand|uniform)(?:\b|_)",
    re.I,
)


Link: TypeAlias = "tuple[Origin, Origin]"


@dataclass(frozen=True, slots=True, eq=False)
class Randomness:
    """A random transform: the call that constructs it, or the use of a training preprocess of a library.

    `links` lead to it from what was asked: each an expression, and what makes its value, which holds the next one.
    """

    scope: FunctionInfo
    node: ast.expr
    what: str
    links: tuple[Link, ...] = ()


class Transforms:
    """Searches values for random transforms, by the tables of names in a rule's options."""

    def __init__(self, resolver: Resolver, options: Mapping[str, Any]) -> None:
        self._resolver = resolver
        self._random = tuple(options["random"])
        self._deterministic = tuple(options["deterministic"])
        self._only_at = options["deterministic-when"]
        self._flags = options["training-flags"]
        self._preprocess = options["training-preprocess"]
        self._seen: set[object] = set()

    def knows(self, dotted: str) -> bool:
        """Tell whether the tables name `dotted`: only what such a call returns can be found."""
        return dotted in self._flags or dotted in self._preprocess or _matches(dotted, self._random)

    def within(self, value: Origin) -> Iterator[Randomness]:
        """Yield the random transforms that `value` is, or was made of."""
        self._seen = set()
        yield from self._value(value, ())

    def flagged(self, view: CallView) -> Iterator[Randomness]:
        """Yield the call itself where it asks a library's factory for its augmentation."""
        flag = self._flags.get(view.dotted)
        given = view.argument(flag["name"], flag.get("position")) if flag is not None else None
        if flag is not None and given is not None and self._resolver.truth(given) is True:
            yield Randomness(view.origin.scope, view.node, f"{last_name(view.node.func)}({flag['name']}=True)")

    def holds_samples(self, made: Origin) -> bool:
        """Tell whether what a call makes is a data set, or a part of one, and not a step of a pipeline."""
        for view in self._resolver.views(made):
            target = view.callee.symbol.target if view.callee.symbol is not None else None
            if isinstance(target, ClassInfo):
                own = {name for owner in self._resolver.project.ancestry(target)[0] for name in owner.methods}
                return own.isdisjoint(_APPLIED) or not own.isdisjoint(_HOLDS)
            named = (self._random, self._deterministic, tuple(self._flags))
            return not (isinstance(target, FunctionInfo) or any(_matches(view.dotted, known) for known in named))
        return False

    def _value(self, value: Origin, links: tuple[Link, ...]) -> Iterator[Randomness]:
        if len(links) > MAX_DEPTH or value.node is None:
            return
        replaced = _transform_set(value)
        if replaced is not None:
            yield from self._value(replaced, (*links, (value, replaced)))
            return
        if isinstance(value.node, ast.Subscript) and isinstance(value.node.slice, ast.Slice):
            for item in self._sliced(value.at(value.node.value), value.node.slice):
                yield from self._value(item, (*links, (value, item)))
            return
        for origin in self._resolver.origins(value):
            if origin.unsure or origin.key in self._seen:
                continue
            self._seen.add(origin.key)
            yield from self._made(origin, value, (*links, (value, origin)))

    def _sliced(self, listed: Origin, bounds: ast.Slice) -> Iterator[Origin]:
        """Yield what a slice takes of the elements of a list, nothing where its bounds are not known."""
        numbers: list[int | None] = []
        for node in (bounds.lower, bounds.upper, bounds.step):
            known = self._resolver.constant(listed.at(node)) if node is not None else (None,)
            if known is None or not isinstance(known[0], int | None):
                return
            numbers.append(known[0])
        taken = slice(*numbers)
        for origin in self._resolver.origins(listed):
            if isinstance(origin.node, (ast.List, ast.Tuple)):
                yield from (origin.at(item) for item in origin.node.elts[taken])

    def _made(self, origin: Origin, used: Origin, links: tuple[Link, ...]) -> Iterator[Randomness]:
        node = origin.node
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            for item in node.elts:
                yield from self._value(origin.at(item), links)
            yield from self._grown(origin, used, links)
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            yield from self._value(origin.at(node.elt), links)
        elif isinstance(node, ast.BinOp):
            yield from self._value(origin.at(node.left), links)
            yield from self._value(origin.at(node.right), links)
        elif isinstance(node, ast.Lambda):
            if gives_views(node):
                return
            for call in (n for n in walk(node.body) if isinstance(n, ast.Call)):
                yield from self._value(origin.at(call.func), links)
        elif isinstance(origin.symbol and origin.symbol.target, FunctionInfo):
            yield from self._function(origin, links)
        elif isinstance(node, ast.Call):
            for view in self._resolver.views(origin):
                yield from self._call(origin, view, used, links)
            yield from self._grown(origin, used, links)

    def _call(self, origin: Origin, view: CallView, used: Origin, links: tuple[Link, ...]) -> Iterator[Randomness]:
        dotted = view.dotted
        index = self._preprocess.get(dotted)
        if index is not None:
            if origin.path == (index,) and used.node is not None:
                yield Randomness(used.scope, used.node, f"the training preprocess of {dotted}()", links)
            return
        if (origin.path and not dotted.endswith("random_split")) or last_name(view.node.func) in _COUNTS:
            return
        if dotted in self._flags:
            yield from (replace(found, links=links) for found in self.flagged(view))
            return
        symbol = view.callee.symbol
        target = symbol.target if symbol is not None else None
        if isinstance(target, ClassInfo):
            yield from self._instance(origin, target, links)
            return
        if symbol is not None and self._is_random(view):
            yield Randomness(origin.scope, view.node, str(last_name(view.node.func)), links)
            return
        if symbol is None and isinstance(view.node.func, ast.Attribute):
            yield from self._value(origin.at(view.node.func.value), links)
        for given in view.every():
            yield from self._value(given, links)

    def _is_random(self, view: CallView) -> bool:
        dotted = view.dotted
        if not _matches(dotted, self._random) or _matches(dotted, self._deterministic):
            return False
        chance = view.argument("p")
        if chance is not None and isinstance(chance.node, ast.IfExp):
            return False  # `p=0.5 if args.flip else 0`: an option asks for it
        known = self._resolver.constant(chance) if chance is not None else None
        if known is not None and known[0] == 0:
            return False
        always = view.argument("always_apply")  # how albumentations once said p=1
        if always is not None and self._resolver.constant(always) == (True,):
            known = (1,)
        for pattern, condition in self._only_at.items():
            if fnmatchcase(dotted, pattern):
                if condition == "p=1":
                    return not (known is not None and known[0] in (1, 1.0))
                return not all(
                    self._leaves_no_choice(view.argument(name, position), kind)
                    for position, (name, kind) in enumerate(condition.items())
                )
        return True

    def _leaves_no_choice(self, given: Origin | None, kind: str) -> bool:
        """Tell whether an argument says what to do, and not how far what is drawn may go.

        A `number` does, a `range` of one value, which around nothing is written as zero, an `extent` of zero. Where
        nothing is given, only a number is not there.
        """
        if kind == "anything":
            return True
        if given is None or self._resolver.constant(given) == (None,):
            return kind != "number"
        node = given.node
        if not isinstance(node, (ast.Tuple, ast.List)):
            known = self._resolver.constant(given)
            return known is not None and (kind == "number" or known[0] == 0)
        ends = [self._resolver.constant(given.at(end)) for end in node.elts]
        return None not in ends and all(end == ((0,) if kind == "extent" else ends[0]) for end in ends)

    def _grown(self, origin: Origin, used: Origin, links: tuple[Link, ...]) -> Iterator[Randomness]:
        """Yield what is appended or assigned to the variable that holds the value, later."""
        name = used.node.id if isinstance(used.node, ast.Name) else None
        if name is None or used.scope is not origin.scope:
            return
        for call in origin.scope.calls:
            func = call.func
            if isinstance(func, ast.Attribute) and func.attr in ("append", "insert", "extend") and call.args:
                owner = func.value
                while isinstance(owner, ast.Attribute):
                    owner = owner.value
                if (
                    isinstance(owner, ast.Name)
                    and owner.id == name
                    and self._is_sure(origin.scope, call, origin.activation)
                ):
                    yield from self._value(Origin(call.args[-1], origin.scope, origin.activation), links)

    def _is_sure(self, scope: FunctionInfo, node: ast.AST, activation: Activation) -> bool:
        """Tell whether `node` runs, as far as conditions go that tell training from evaluation."""
        for test, holds in self._resolver.conditions(scope, node):
            known = self._resolver.truth(Origin(test, scope, activation))
            if known is None and _GUARD.search(ast.unparse(test)):
                return False
            if known is not None and known is not holds:
                return False
        return True

    def _function(self, origin: Origin, links: tuple[Link, ...]) -> Iterator[Randomness]:
        """A function of the project is given as a transform: whatever it applies."""
        assert origin.symbol is not None
        function = origin.symbol.target
        assert isinstance(function, FunctionInfo)
        for call in function.calls:
            if self._is_sure(function, call, Activation()):
                yield from self._applied(Origin(call.func, function), links)

    def _applied(self, func: Origin, links: tuple[Link, ...]) -> Iterator[Randomness]:
        """A callable is applied: a transform in a variable or an attribute, or one constructed on the spot."""
        if isinstance(func.node, ast.Name) and self._resolver.project.resolve_in(func.scope, func.node) is not None:
            symbol = self._resolver.project.resolve_in(func.scope, func.node)
            if symbol is not None and symbol.variable is None:
                return
        yield from self._value(func, links)

    def _instance(self, origin: Origin, cls: ClassInfo, links: tuple[Link, ...]) -> Iterator[Randomness]:
        """Yield the random transforms that an instance of a project class applies when it is read or called."""
        init = self._resolver.project.method(cls, "__init__")
        own = {name for owner in self._resolver.project.ancestry(cls)[0] for name in owner.methods}
        outside = not own.isdisjoint(_READS)
        if not outside:  # the library's class reads: whatever it is given, and hands on
            view = self._resolver.view(origin)
            for given in view.every() if view is not None else ():
                yield from self._value(given, links)
            for call in init.calls if init is not None else ():
                if isinstance(call.func, ast.Attribute) and call.func.attr == "__init__":
                    activation = self._resolver.instance(cls, origin)
                    for value in arguments_of(call):
                        yield from self._value(Origin(value, init, activation), links)  # type: ignore[arg-type]
            return
        queue = [name for name in _READS if name in own]
        done: set[str] = set()
        while queue:
            name = queue.pop()
            method = self._resolver.project.method(cls, name)
            if name in done or method is None:
                continue
            done.add(name)
            activation = Activation((id(origin.node), *origin.activation.key), {}, origin)
            for call in method.calls:
                if not self._is_sure(method, call, activation):
                    continue
                func = call.func
                if (
                    isinstance(func, ast.Attribute)
                    and isinstance(func.value, ast.Name)
                    and func.value.id == method.self_name
                ):
                    if func.attr in own:
                        queue.append(func.attr)
                        continue
                    yield from self._value(Origin(func, method, activation), links)
                elif isinstance(func, (ast.Call, ast.Subscript)) or (
                    isinstance(func, ast.Name) and func.id in method.stores
                ):
                    yield from self._value(Origin(func, method, activation), links)
                elif isinstance(func, ast.Name):
                    yield from self._applied(Origin(func, method, activation), links)


def gives_views(function: ast.Lambda) -> bool:
    """Tell whether a function gives several views of the one thing that it is given: test-time augmentation.

    `lambda image: [flip(image), turn(image)]`, `lambda image: [crop(image) for _ in range(10)]`. A tuple is of
    different things, of the parts of a sample, say: `lambda sample: (flip(sample[0]), sample[1])`.
    """
    match function.body:
        case ast.List(views) if len(views) > 1:
            pass
        case ast.ListComp(view):
            views = [view]
        case _:
            return False
    own = {argument.arg for argument in function.args.args}
    return all(isinstance(view, ast.Call) and any(getattr(a, "id", None) in own for a in view.args) for view in views)


_COUNTS = frozenset({"len", "range", "arange", "randperm", "int", "round"})
"""What makes numbers and indices, also of the length of a data set: `Subset(held_out, range(len(training) // 5))`."""

_KEPT_AS = re.compile(r"(^|_)(transforms?|tfms?|aug(mentations?)?)$")


def _transform_set(value: Origin) -> Origin | None:
    """Return what is set, last, as the transform of the data set in a variable: `held_out.transform = resize`."""
    found = None
    for scope in (value.scope, value.scope.module.body) if isinstance(value.node, ast.Name) else ():
        for node in walk_own(scope):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
                owner: ast.expr = node.targets[0]
                if _KEPT_AS.search(node.targets[0].attr):
                    while isinstance(owner, ast.Attribute):
                        owner = owner.value
                    if isinstance(owner, ast.Name) and owner.id == value.node.id:  # type: ignore[union-attr]
                        found = Origin(node.value, scope, value.activation)
    return found


def _matches(dotted: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(dotted, pattern) for pattern in patterns)
