"""Data loaders: who reads them, and whether any of the readers evaluates."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from modellint.static.context import FileContext
from modellint.static.datapath.consumption import EVALUATION, OTHER, TRAINING, Consumption
from modellint.static.datapath.sources import sources
from modellint.static.naming import snake
from modellint.static.origins import CallView, Origin, Resolver, is_parameter
from modellint.static.project import ClassInfo, FunctionInfo, Project
from modellint.static.project.trees import walk

_TRAIN = re.compile(r"(^|_)(tr|trn|train(?!_?(val|test|dev)|er(_|$))\w*)(_|$)")
_HELD_OUT = re.compile(r"(^|_)(val\w*|test\w*|eval\w*|predict\w*|dev)(_|$)")


@dataclass(slots=True, eq=False)
class Loader:
    """One loader, as one way through the code constructs it, with everything that runs over it."""

    view: CallView
    unsure: bool
    names: set[str] = field(default_factory=set)
    uses: list[Consumption] = field(default_factory=list)

    @property
    def evaluates(self) -> list[Consumption]:
        """The loops that evaluate over it; empty where something also trains over it, or it is named for training."""
        if self.unsure or any(use.kind == TRAINING for use in self.uses) or self.is_named_for_training:
            return []
        return [use for use in self.uses if use.kind == EVALUATION]

    @property
    def is_named_for_training(self) -> bool:
        """Whether the names on its way, or else those of its data set, speak of training."""
        if any(names_training(name) for name in self.names):
            return True
        if any(names_held_out(name) for name in self.names):
            return False
        dataset = self.view.argument("dataset", 0)
        return dataset is not None and dataset.node is not None and speaks_of_training(dataset.node)


def calls_to(loader: Loader) -> Iterator[ast.AST]:
    """Yield the call that constructs a loader, and those of functions that lead to it."""
    origin: Origin | None = loader.view.origin
    while origin is not None and origin.node is not None:
        yield origin.node
        origin = origin.activation.call


def decided_at(view: CallView, given: Origin, readers: Container[FunctionInfo]) -> Origin:
    """Return the call that decides on `given`, an argument of a loader: of the functions that hand it on the outermost.

    `make_loader(data, shuffle=True)` decides, as does a call that leaves it to the default of `make_loader`; not the
    call of one of `readers`, which run over the loader themselves.
    """
    origin = view.origin
    while (call := origin.activation.call) is not None and origin.scope not in readers:
        if is_parameter(given):
            assert isinstance(given.node, ast.Name)
            inner = origin.activation.bindings.get(given.node.id)
            if inner is None:
                return call
            given = inner
        elif given.scope is origin.scope:
            break
        origin = call  # `**options` of a caller, too
    return origin


_PROCESSES = re.compile(r"transform|aug|process|(^|_)(tf|tfms?|prep)(_|$)")
"""Names of what is done to the samples of a data set: they do not say which samples these are."""


def names_training(name: str) -> bool:
    """Tell whether the name of a loader speaks of training."""
    return _TRAIN.search(snake(name)) is not None


def names_held_out(name: str) -> bool:
    """Tell whether a name speaks of what is held out from training."""
    return _HELD_OUT.search(snake(name)) is not None


def speaks_of_training(node: ast.expr) -> bool:
    """Tell whether the expression of a data set names the training split; what transforms it says nothing."""
    queue: list[ast.AST] = [node]
    while queue:
        inner = queue.pop()
        if isinstance(inner, ast.keyword) and inner.arg is not None:
            if inner.arg in ("train", "is_train", "training"):
                return isinstance(inner.value, ast.Constant) and inner.value.value is True
            if _PROCESSES.search(inner.arg):
                continue
        if isinstance(inner, ast.Call):
            queue += _telling(inner)
            continue
        text = inner.id if isinstance(inner, ast.Name) else inner.attr if isinstance(inner, ast.Attribute) else ""
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            text = inner.value
        if _TRAIN.search(snake(text)) and not _PROCESSES.search(snake(text)):
            return True
        queue += ast.iter_child_nodes(inner)
    return False


def _telling(call: ast.Call) -> list[ast.AST]:
    """Return the parts of a call that may name the split of a data set: a plain `train` further on is a transform."""
    further = (a for a in call.args[1:] if not (isinstance(a, ast.Name) and a.id in ("train", "training")))
    return [call.func, *call.args[:1], *call.keywords, *further]


def is_loader(resolver: Resolver, view: CallView, patterns: Iterable[str]) -> bool:
    """Tell whether a call constructs a loader: one of `patterns`, or a project class derived from one."""
    symbol = view.callee.symbol
    if symbol is None:
        return False
    if isinstance(symbol.target, ClassInfo) and is_heir(resolver.project, symbol.target, patterns):
        return True
    return any(fnmatchcase(symbol.dotted, pattern) for pattern in patterns)


def is_heir(project: Project, cls: ClassInfo, patterns: Iterable[str]) -> bool:
    """Tell whether a class of the project descends from one of `patterns`, whatever it is called itself."""
    return any(fnmatchcase(base, pattern) for base in project.ancestry(cls)[1] for pattern in patterns)


def loaders(context: FileContext, names: Iterable[str], patterns: Iterable[str]) -> Iterator[Loader]:
    """Yield the loaders that run in this file, or that the functions and variables `names` of it help to make."""
    resolver = context.consumptions.resolver
    patterns = tuple(patterns)
    found: dict[object, Loader] = {}
    for use in context.consumptions.around(context.module, names):
        for origin, partly in sources(resolver, use.loader):
            for view in resolver.views(origin) if not origin.path else ():
                if not is_loader(resolver, view, patterns):
                    continue
                loader = found.setdefault(origin.at(origin.node).key, Loader(view, origin.unsure))
                loader.names |= origin.names | _written(use.loader.node)
                loader.uses.append(_cut_short(use) if partly else use)
    yield from found.values()


def _cut_short(use: Consumption) -> Consumption:
    """Return a use that ends early: no evaluation of all there is, training all the same."""
    return replace(use, kind=OTHER if use.kind == EVALUATION else use.kind, partly=True)


def _written(node: ast.expr | None) -> set[str]:
    """Return the names in an expression."""
    names: set[str] = set()
    queue: list[ast.AST] = [] if node is None else [node]
    while queue:
        inner = queue.pop()
        if isinstance(inner, (ast.Name, ast.Attribute)):
            name = inner.id if isinstance(inner, ast.Name) else inner.attr
            if "load" in name.lower() or not _PROCESSES.search(snake(name)):
                names.add(name)
        queue += _telling(inner) if isinstance(inner, ast.Call) else ast.iter_child_nodes(inner)
    return names


def enclosing_names(scope: FunctionInfo, node: ast.AST, resolver: Resolver) -> set[str]:
    """Return the names by which other files reach what `node` makes: functions, classes, globals."""
    if not scope.is_body:
        names = set()
        inner: FunctionInfo | None = scope
        while inner is not None and not inner.is_body:
            names.add(inner.cls.name if inner.cls is not None else inner.name)
            inner = inner.parent
        return names
    assigned = resolver.definitions(scope).names
    return {name for name, made in assigned.items() if any(_holds(d.value, node) for d in made)}


def _holds(value: ast.expr, node: ast.AST) -> bool:
    return any(inner is node for inner in walk(value))
