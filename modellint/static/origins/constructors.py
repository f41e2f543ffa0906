"""Constructors that call those of their bases: what a class hands up, and who hands something to a base."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from modellint.static.naming import is_test_file
from modellint.static.origins.values import Activation, Origin
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo
from modellint.static.project.callers import MAX_FILES, last_name_of
from modellint.static.project.names import last_name

if TYPE_CHECKING:
    from modellint.static.origins.resolver import Resolver


def called_bases(
    resolver: Resolver, init: FunctionInfo, activation: Activation
) -> Iterator[tuple[FunctionInfo, Activation]]:
    """Yield the constructors of bases that the constructor `init` calls, each with its activation there."""
    assert init.cls is not None
    bases = resolver.project.ancestry(init.cls)[0][1:]
    for call in init.calls_of("__init__"):
        view = resolver.view(Origin(call, init, activation))
        if view is None or not isinstance(call.func, ast.Attribute):
            continue
        owner, target = call.func.value, None
        by_super = isinstance(owner, ast.Call) and last_name(owner.func) == "super"
        if by_super:
            target = next((base.methods["__init__"] for base in bases if "__init__" in base.methods), None)
        else:
            symbol = resolver.project.resolve_in(init, owner)
            if symbol is not None and symbol.target in bases:
                target = resolver.project.method(symbol.target, "__init__")
        if target is not None:
            bound = view.bound_to(target, int(by_super))
            bound.pop(target.self_name or "", None)
            depth = 0 if view.opaque else 1
            yield target, Activation((id(call), *activation.key), bound, activation.receiver, depth=depth)


def built_by(resolver: Resolver, cls: ClassInfo, method: FunctionInfo, init: Activation) -> Activation:
    """Return the activation of `method`, a constructor of `cls` or of a base, where `init` is that of its own."""
    own = resolver.project.method(cls, "__init__")
    queue = [(own, init)] if own is not None else []
    for function, activation in queue:
        if function is method:
            return activation
        queue += [found for found in called_bases(resolver, function, activation) if found[0] is not function]
    return init


def heirs(resolver: Resolver, cls: ClassInfo) -> Iterator[tuple[ClassInfo, list[ModuleInfo]]]:
    """Yield the classes that inherit from `cls`, each with the files that mention it."""
    found = [cls]
    for current in found:
        files = _files(resolver, current)
        if current is not cls:
            yield current, files
        found += [
            other
            for module in files
            for other in module.classes
            if current.name in map(last_name_of, other.bases)
            and other not in found
            and current in resolver.project.ancestry(other)[0]
        ]


def _files(resolver: Resolver, cls: ClassInfo) -> list[ModuleInfo]:
    """Return the files that mention a class, its own first, none beside that where there are many."""
    mine = cls.module.path
    paths = [path for path in resolver.project.mentioning(cls.name, mine, "values") if not is_test_file(path)]
    paths = [path for path in paths if path != mine] if len(paths) <= MAX_FILES else []
    resolver.touched.update([mine, *paths])
    loaded = (resolver.project.load(path, mine, "values") for path in paths)
    return [cls.module, *(module for module in loaded if module is not None)]
