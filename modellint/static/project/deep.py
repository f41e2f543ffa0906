"""Where the installed packages of the environment define a name: asked with `--deep` only, answered by astroid.

Nothing is imported or run: astroid reads the packages' source. What it finds is a file and a name in it; that file is
then analysed as if it were one of the project's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import astroid
from astroid import nodes

_MAX_HOPS = 8


class Definition(NamedTuple):
    """A class or function of an installed package: its file, and its name in it."""

    path: Path
    name: str


class Deep:
    """Finds definitions in the environment's packages; names below `known` roots are left to what is known of them."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = frozenset(known) | frozenset(sys.stdlib_module_names)
        self._manager = astroid.MANAGER
        self._found: dict[str, Definition | None] = {}

    def find(self, dotted: str) -> Definition | None:
        """Return where the class or function `dotted` is defined, None where no installed package defines it."""
        if dotted.startswith(".") or "." not in dotted or dotted.split(".", 1)[0] in self._known:
            return None
        if dotted not in self._found:
            self._found[dotted] = None  # packages that import each other in a circle end here
            self._found[dotted] = self._find(dotted, 0)
        return self._found[dotted]

    def _find(self, dotted: str, hops: int) -> Definition | None:
        module_name, _, name = dotted.rpartition(".")
        module = self._module(module_name)
        if module is None or hops > _MAX_HOPS:
            return None
        for node in module.locals.get(name, ()):
            if isinstance(node, (nodes.ClassDef, nodes.FunctionDef)) and module.file:
                return Definition(Path(module.file), name)
            if isinstance(node, nodes.ImportFrom):
                source = module.relative_to_absolute_name(node.modname, node.level)
                found = self._find(f"{source}.{node.real_name(name)}", hops + 1)
                if found is not None:
                    return found
        for statement in module.body:
            if isinstance(statement, nodes.ImportFrom) and statement.names[0][0] == "*":
                source = module.relative_to_absolute_name(statement.modname, statement.level)
                found = self._find(f"{source}.{name}", hops + 1)
                if found is not None:
                    return found
        return None

    def _module(self, name: str) -> nodes.Module | None:
        if not name:
            return None
        try:
            return self._manager.ast_from_module_name(name)
        except (astroid.AstroidError, SyntaxError, ValueError, OSError, RecursionError, ImportError):
            return None
