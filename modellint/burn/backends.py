"""Which types and devices record gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from modellint.burn.items import Alias, Function, ModulePath, RustFile
from modellint.burn.project import Elsewhere, Place, Project
from modellint.burn.syntax import field, path_segments, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

# `ADBackendDecorator` and `ADBackend` up to 0.10, `Autodiff` and `AutodiffBackend` from 0.11 to 0.21.
DECORATORS = frozenset({"Autodiff", "ADBackendDecorator"})
BOUNDS = frozenset({"AutodiffBackend", "ADBackend"})
_ALIAS_LIMIT = 8


class Backends:
    """Answers for types as they are written in one project."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def records(self, node: Node, function: Function) -> bool:
        """Tell whether a type written in a function names an Autodiff backend itself, or holds one."""
        return next(self._decorators(node, function.file, function.module, function, 0), None) is not None

    def alias_of(self, node: Node, function: Function) -> Alias | None:
        """Return the alias through which a type names an Autodiff backend; None where it does so itself."""
        found = next(self._decorators(node, function.file, function.module, function, 0), None)
        return found if isinstance(found, Alias) else None

    def bound(self, node: Node, function: Function) -> str | None:
        """Return the type parameter with an Autodiff bound that a type is."""
        name = text_of(node)
        return name if BOUNDS.intersection(function.generics.get(name, ())) else None

    def _decorators(
        self, node: Node, file: RustFile, module: ModulePath, function: Function | None, depth: int
    ) -> Iterator[Alias | bool]:
        """Yield, for every Autodiff backend in a type, the alias that hides it, or False."""
        kind = node.type
        if depth > _ALIAS_LIMIT:
            return
        if kind == "generic_type":
            base = field(node, "type")
            if base is not None and self._is_decorator(base, file, module):
                yield False
                return
            arguments = field(node, "type_arguments")
            for argument in arguments.named_children if arguments is not None else ():
                yield from self._decorators(argument, file, module, function, depth)
        elif kind in ("type_identifier", "scoped_type_identifier"):
            path = path_segments(node)
            if "?" in path or path[-1] in ("InnerBackend", "Device"):
                return
            if function is not None and len(path) == 1 and path[0] in function.generics:
                return
            target = self._project.resolve(Place(file, module), path)
            if isinstance(target, Alias):
                for variant in target.variants:
                    inner = self._decorators(variant.target, variant.file, variant.module, None, depth + 1)
                    if next(inner, None) is not None:
                        yield variant
                        break
        elif kind in ("reference_type", "tuple_type", "array_type", "type_arguments", "bounded_type"):
            for child in node.named_children:
                yield from self._decorators(child, file, module, function, depth)

    def _is_decorator(self, base: Node, file: RustFile, module: ModulePath) -> bool:
        path = path_segments(base)
        target = self._project.resolve(Place(file, module), path)
        last = target.path[-1:] if isinstance(target, Elsewhere) else path[-1:]
        if isinstance(target, Alias | Function):
            return False
        return bool(last) and last[0] in DECORATORS
