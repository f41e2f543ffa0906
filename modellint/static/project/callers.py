"""Which files may call a function, by the names that they hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from modellint.static.naming import is_test_file
from modellint.static.project.facts import ClassInfo, FunctionInfo, ModuleInfo
from modellint.static.project.index import Project
from modellint.static.project.trails import Purpose
from modellint.static.project.trees import walk

MAX_FILES = 12


def name_in_calls(function: FunctionInfo) -> str:
    """Return the name by which a function is called: of `__init__` and the like, that of the class."""
    return function.cls.name if function.cls is not None and function.name.startswith("__") else function.name


def is_imported(project: Project, module: ModuleInfo, name: str) -> bool:
    """Tell whether another file of the project speaks of `name` and of the file that defines it."""
    importing = set(project.mentioning(module.imported_as, module.path, "calls"))
    return any(path in importing for path in project.mentioning(name, module.path, "calls") if path != module.path)


def files_calling(project: Project, function: FunctionInfo, purpose: Purpose) -> tuple[list[Path], set[Path]]:
    """Return the other files that hold the function's name, and the name of its file or one that gives its owner.

    Beside them, the files that were read to find such names.
    """
    mine = function.module.path
    holding = [path for path in project.mentioning(name_in_calls(function), mine, purpose) if path != mine]
    if not holding:
        return [], set()
    owners, read = {function.module.imported_as}, set[Path]()
    if function.cls is None and mine.with_name("__init__.py") in project.mentioning(mine.stem, mine, purpose):
        package = set(project.mentioning(mine.parent.name, mine, purpose)).intersection(holding)
        if len(package) <= MAX_FILES:
            owners.add(mine.parent.name)  # which hands on what its files define
    if function.cls is not None:
        owners, read = _givers(project, function.cls, purpose)
    related = {path for owner in owners for path in project.mentioning(owner, mine, purpose)}
    return [path for path in holding if path in related], read


def scopes_mentioning(project: Project, word: str, mine: Path, most: int | None = None) -> Iterator[FunctionInfo]:
    """Yield the functions and top levels of the files that hold `word`, tests left out; of the first `most` of them.

    `mine` is the file that the question is about.
    """
    paths = [path for path in project.mentioning(word, mine, "calls") if not is_test_file(path)]
    for path in paths[:most]:
        module = project.load(path, mine, "calls")
        if module is not None:
            yield from (module.body, *module.functions)


def heirs_nearby(project: Project, cls: ClassInfo) -> Iterator[ClassInfo]:
    """Yield classes that inherit from `cls` directly, of `MAX_FILES` files, those of its folder first."""
    mine = cls.module.path
    written = (f"({cls.name}", f".{cls.name}", f", {cls.name}")
    mentioned = dict.fromkeys(path for word in written for path in project.mentioning(word, mine, "values"))
    paths = [path for path in mentioned if not is_test_file(path)]
    for path in sorted(paths, key=lambda path: path.parent != mine.parent)[:MAX_FILES]:
        module = project.load(path, mine, "values")
        for other in module.classes if module is not None else ():
            if cls in project.ancestry(other)[0][1:]:
                yield other


def _givers(project: Project, cls: ClassInfo, purpose: Purpose) -> tuple[set[str], set[Path]]:
    """Return the names of a class, of those that inherit from it, and of functions that make and return instances.

    These are looked for as far as few files mention the classes.
    """
    mine, classes, makers, read = cls.module.path, [cls.name], set[str](), set[Path]()
    for name in classes:
        files = {mine, *project.mentioning(name, mine, purpose)}
        for path in files if len(files) <= MAX_FILES else ():
            module = None if is_test_file(path) else project.load(path, mine, purpose)
            if module is None:
                continue
            read.add(path)
            heirs = (c.name for c in module.classes if name in map(last_name_of, c.bases))
            classes += [heir for heir in dict.fromkeys(heirs) if heir not in classes]
            makers |= {name_in_calls(f) for f in module.functions if _may_make(f, name)}
    return makers.union(classes), read


def last_name_of(base: str | None) -> str:
    """Return the last part of the dotted name of a base class."""
    return (base or "").rpartition(".")[2]


def _may_make(function: FunctionInfo, name: str) -> bool:
    """Tell whether a function, or the `__new__` of another class, calls the class `name` and returns something."""
    offered = function.cls is None or function.name == "__new__"
    return offered and name in function.callees and _returns(function)


def _returns(function: FunctionInfo) -> bool:
    return function.node is not None and any(isinstance(n, ast.Return) and n.value for n in walk(function.node))
