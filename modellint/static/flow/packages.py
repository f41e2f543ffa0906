"""What the packages around a file do to autograd as they are imported: before any line of the file runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from modellint.static.flow.frames import site_of
from modellint.static.flow.values import OFF, ON, Grad
from modellint.static.project import ModuleInfo, Project
from modellint.static.project.facts import is_false
from modellint.static.project.names import last_name


def grad_at_import(project: Project, module: ModuleInfo) -> Grad:
    """Return the state of autograd in which the top level of a file begins: off where a package of it says so, or a
    file of the project that it imports."""
    switching = project.mentioning("set_grad_enabled(", module.path, "calls")
    named = (name for found in module.imports.values() for name in (found.module, found.name) if name)
    imported = {name.rpartition(".")[2] for name in named}
    beside = [path for path in switching if path.stem in imported and path != module.path]
    for path in (*_inits_above(module.path), *beside):
        package = project.load(path, module.path, "calls")
        if package is None or "set_grad_enabled" not in package.body.callees:
            continue
        for statement in package.body.body:
            call = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(call, ast.Call) and last_name(call.func) == "set_grad_enabled" and len(call.args) == 1:
                if is_false(call.args[0]):
                    return Grad(OFF, site_of(package, call))
    return Grad(ON, None)


def _inits_above(path: Path) -> Iterator[Path]:
    """Yield the `__init__.py` of each package around a file, innermost first, but for the file itself."""
    for folder in path.parents:
        init = folder / "__init__.py"
        if not init.is_file():
            break
        if init != path:
            yield init
