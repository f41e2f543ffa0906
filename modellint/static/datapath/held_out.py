"""Loaders of data that says itself that it is held out, made for an evaluation that is not in sight."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator

from modellint.static.context import FileContext
from modellint.static.datapath.evidence import CORRUPTS, REPEATS, is_test_scope, looks_at_samples
from modellint.static.datapath.loaders import is_loader, names_training
from modellint.static.guards import own
from modellint.static.naming import snake
from modellint.static.origins import CallView, Origin, Resolver
from modellint.static.project import FunctionInfo
from modellint.static.project.names import last_name, written_name
from modellint.static.project.trees import walk

_SPLITS = ("split", "subset", "mode", "phase", "partition", "stage", "image_set")
_TRAINS = ("train", "is_train", "training", "is_training")
_HELD_OUT = re.compile(r"^(test|val|valid|validation|dev|eval|evaluation)\w*$", re.I)
"""What the argument of a data set is where it asks for a part to evaluate with: `test`, `val2017`."""

_EVALUATES = re.compile(r"(^|_)(test|val(id(ation)?)?|dev|eval(uation)?)_?((data)?_?(load(er)?|dl|iter))?s?(_|$)")
_MEANT = re.compile(
    r"(^|_)(two|multi(?!_?(modal|task|class|label))\w*|pairs?|siamese|triplets?|simclr|moco|byol|simsiam|dino|mae|pretrain\w*|robust\w*|noise|rotat\w*|shift\w*"
    r"|ood|adversar\w*|attack\w*|unlabel\w*|occlu\w*|perturb\w*)(_|$)"
)
"""Names of code in which what is drawn for held-out data is the task."""


_ASKS = frozenset({"len", "print", "isinstance", "append"})
"""Functions that take nothing out of a loader."""


def held_out_loaders(
    context: FileContext, patterns: Iterable[str], known: Container[ast.AST], paired: bool = False
) -> Iterator[CallView]:
    """Yield the loaders of data that is held out, by its arguments, that are made to evaluate, by their names or place.

    Left out are those `known`, of which is seen what runs over them, those that hand out in an order of their own, and
    those whose names say that chance is meant. With `paired` the name of the data is enough where the same function
    makes a loader that shuffles.
    """
    patterns = tuple(patterns)
    run_over = {name for scope in context.scopes for name in _run_over(context.resolver, scope)}
    for scope in context.scopes_calling({name for name in context.callees if "oader" in name}):
        if is_test_scope(scope) or looks_at_samples(scope) or any(map(_is_meant, _around(scope))):
            continue
        for name, call in placed(scope):
            if call in known or not _evaluates(name) or _is_meant(name) or name in run_over:
                continue
            for view in context.resolver.views(Origin(call, scope)):
                fits = is_loader(context.resolver, view, patterns) and _hands_out_in_order(context.resolver, view)
                by_name = paired and _is_named_held_out(view) and any(map(shuffles, scope.calls))
                if fits and (by_name or _is_held_out(context.resolver, view)):
                    yield view


def _hands_out_in_order(resolver: Resolver, view: CallView) -> bool:
    """Tell whether a loader neither shuffles nor has a sampler: what is made to train with mostly does."""
    shuffle = view.argument("shuffle", 2)
    given = [view.argument("sampler", 3), view.argument("batch_sampler", 4)]
    in_order = shuffle is None or resolver.truth(shuffle) is False
    return in_order and all(one is None or resolver.constant(one) == (None,) for one in given)


def _around(scope: FunctionInfo) -> Iterator[str]:
    """Yield the names of a function, of those and the class around it, and of its file."""
    inner: FunctionInfo | None = scope
    while inner is not None and not inner.is_body:
        yield inner.name
        if inner.cls is not None:
            yield inner.cls.name
        inner = inner.parent
    yield from (scope.module.path.stem, scope.module.path.parent.name)


def _run_over(resolver: Resolver, scope: FunctionInfo) -> Iterator[str]:
    """Yield the names and keys in what a function runs over, or gives to another one, whatever becomes of it there."""
    handed = (argument for call in scope.calls for argument in call.args if last_name(call.func) not in _ASKS)
    for iterated in (*(loop.iter for loop, _ in resolver.definitions(scope).loops), *handed):
        for node in walk(iterated):
            if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
                yield written_name(node)


def _is_meant(name: str) -> bool:
    return any(pattern.search(snake(name)) for pattern in (_MEANT, CORRUPTS, REPEATS))


def _evaluates(name: str) -> bool:
    return _EVALUATES.search(snake(name)) is not None and not names_training(name)


def placed(scope: FunctionInfo) -> Iterator[tuple[str, ast.Call]]:
    """Yield calls with what their values are called: where they are assigned, returned or put into a dictionary.

    What is returned beside something that shuffles is called for a test.
    """
    for node in own(scope, ast.Assign):
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            yield from ((written_name(one), value) for one, value in pairs if isinstance(value, ast.Call))
    for node in own(scope, ast.Return):
        if isinstance(node.value, ast.Call):
            yield scope.name, node.value
        elif isinstance(node.value, ast.Tuple) and any(map(shuffles, node.value.elts[:1])):
            yield from (("test", value) for value in node.value.elts[1:] if isinstance(value, ast.Call))
    for node in own(scope, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(value, ast.Call):
                yield str(key.value), value


def _is_named_held_out(view: CallView) -> bool:
    """Tell whether the data set of a loader is called held out: `testset`, `self.val_data`."""
    data = view.argument("dataset", 0)
    name = written_name(data.node) if data is not None and data.node is not None else ""
    return _DATA.search(snake(name)) is not None and not names_training(name) and not _is_meant(name)


_DATA = re.compile(r"(^|_)(test|val(id(ation)?)?|dev|eval(uation)?)_?(data)?_?(sub)?(sets?|ds)?$")


def shuffles(node: ast.expr) -> bool:
    """Tell whether a call says `shuffle=True`."""
    given = node.keywords if isinstance(node, ast.Call) else []
    return any(k.arg == "shuffle" and isinstance(k.value, ast.Constant) and k.value.value is True for k in given)


def _is_held_out(resolver: Resolver, view: CallView) -> bool:
    """Tell whether the data set of a loader is asked for its part to evaluate with."""
    data = view.argument("dataset", 0)
    made = [resolver.view(origin) for origin in resolver.origins(data)] if data is not None else []
    return bool(made) and all(one is not None and _asks_for_held_out(resolver, one) for one in made)


def _asks_for_held_out(resolver: Resolver, data: CallView) -> bool:
    parts = [data.origin, *(origin for given in data.every() for origin in resolver.origins(given))]
    if any(_draws_on_purpose(resolver, part) for part in parts):
        return False
    flags = [resolver.constant(data.keywords[name]) for name in _TRAINS if name in data.keywords]
    texts = [resolver.constant(data.keywords[name]) for name in _SPLITS if name in data.keywords]
    named = any(known is not None and _HELD_OUT.match(str(known[0])) for known in texts)
    return (named or (False,) in flags) and all(known == (False,) for known in flags)


def _draws_on_purpose(resolver: Resolver, part: Origin) -> bool:
    """Tell whether a data set, or what it is given, is named for drawing, or draws several views of one sample."""
    names = {*part.names, (last_name(part.node) or "") if part.node is not None else ""}
    if any(pattern.search(snake(name)) for name in names for pattern in (_MEANT, CORRUPTS)):
        return True
    cls = resolver.constructed(part)
    methods = [resolver.project.method(cls, name) for name in ("__getitem__", "__call__")] if cls is not None else []
    return any(method is not None and _applies_twice(method) for method in methods)


def _applies_twice(method: FunctionInfo) -> bool:
    """Tell whether a method applies one thing that its object holds more than once: `self.crop(x), self.crop(x)`."""
    applied = [ast.unparse(call.func) for call in method.calls if _is_held(call.func, method)]
    listed = (n for kind in own(method, ast.ListComp, ast.GeneratorExp, ast.For) for n in walk(kind))
    return len(set(applied)) < len(applied) or any(isinstance(n, ast.Call) and _is_held(n.func, method) for n in listed)


def _is_held(func: ast.expr, method: FunctionInfo) -> bool:
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == method.self_name
