"""From a name to what it stands for, across the files of the project, without importing anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from modellint.sources import Read, from_disk
from modellint.static.project.facts import ClassInfo, FunctionInfo, Import, ModuleInfo
from modellint.static.project.import_paths import ImportPaths
from modellint.static.project.names import documented_name, dotted_name
from modellint.static.project.parsed_files import ParsedFiles
from modellint.static.project.trails import Purpose, Trails

if TYPE_CHECKING:
    from modellint.static.project.deep import Deep

Target: TypeAlias = "ClassInfo | FunctionInfo | ModuleInfo | Path"
_MAX_HOPS = 12
_USUAL = {
    "torch": Import("torch", 0, None),
    "nn": Import("torch", 0, "nn"),
    "optim": Import("torch", 0, "optim"),
    "F": Import("torch.nn", 0, "functional"),
    "DataLoader": Import("torch.utils.data", 0, "DataLoader"),
    "Dataset": Import("torch.utils.data", 0, "Dataset"),
}
"""What names stand for that helpers for notebooks hand on: `from fastai.vision.all import *`."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """What a name stands for.

    `dotted` is the name it was imported by (`torch.nn.functional.dropout`), whichever local alias was used.
    `target` is its definition in the project, a folder for a package without `__init__`, None for anything
    outside; with `variable`, `target` is the module whose global it is.
    """

    dotted: str
    target: Target | None = None
    variable: str | None = None


def _home(target: Target) -> Path:
    """Return the file of a definition, the folder of a package without `__init__`."""
    if isinstance(target, Path):
        return target
    return target.path if isinstance(target, ModuleInfo) else target.module.path


class Project:
    """The files below `root`, and what the names in them stand for. Not safe for concurrent use.

    `files` are the parsed ones, `trails` tell which file led to which other one. `deep` makes, when first needed, what
    finds names in installed packages; without it they stay outside. `read` gives the content of a file.
    """

    def __init__(self, root: Path, deep: Callable[[], Deep] | None = None, read: Read = from_disk) -> None:
        self.root = root
        self._deep = deep
        self._names: dict[ModuleInfo, dict[str, Symbol | None]] = {}
        self._aliasing: set[tuple[ModuleInfo, str]] = set()
        self._members_of: dict[tuple[Path, str], Symbol] = {}
        self._resolved: dict[ModuleInfo, dict[str, Symbol | None]] = {}
        self._imported: dict[FunctionInfo, dict[str, Symbol | None]] = {}
        self.paths = ImportPaths(root)
        self.files = ParsedFiles(root, read, self._forget)
        self.trails = Trails()

    def _forget(self) -> None:
        self._names.clear()
        self._members_of.clear()
        self._resolved.clear()
        self._imported.clear()

    def load(self, path: Path, reader: Path, purpose: Purpose) -> ModuleInfo | None:
        """Return the file `path`, which is read on behalf of the file `reader`; None if it cannot be parsed."""
        self.trails.load(path, reader, purpose)
        return self.files.module(path)

    def registry(self, path: Path, reader: Path) -> ModuleInfo | None:
        """Return the file `path`, which `reader` imports, if it fills a registry."""
        self.trails.name(reader, path)
        module = self.files.module(path)
        if module is None or not module.registers:
            return None
        self.trails.read(reader, path)
        return module

    # -- names ---------------------------------------------------------------------------------------------

    def lookup(self, module: ModuleInfo, name: str) -> Symbol | None:
        """Return what the global `name` of `module` stands for; None for builtins and plain variables."""
        names = self._names.get(module)
        if names is None:
            names = self._names[module] = {}
        if name not in names:
            names[name] = None  # an import cycle ends here
            found = names[name] = self._lookup(module, name, 0) or self._guess(module, name, set())
            if found is not None and found.target is not None:
                self.trails.read(module.path, _home(found.target))
        return names[name]

    def _lookup(self, module: ModuleInfo, name: str, hops: int) -> Symbol | None:
        own = module.body.classes.get(name) or module.body.functions.get(name)
        if own is not None:
            real = self._real(module, own, hops) if isinstance(own, ClassInfo) and own.is_conditional else None
            return real or Symbol(f"{self.paths.dotted(module.path)}.{name}", own)
        if hops > _MAX_HOPS:
            return None
        if (imported := module.imports.get(name)) is not None:
            return self._follow(module, imported, hops)
        if name in module.aliases:
            if (module, name) in self._aliasing:  # two files that name each other's names
                return None
            self._aliasing.add((module, name))
            alias = self.resolve(module, module.aliases[name])
            self._aliasing.discard((module, name))
            return alias if alias is not None and alias.variable is None else None
        for star in module.stars:
            path = self.paths.find(module.path, star.module, star.level)
            if path is not None:
                self.trails.name(module.path, path)
                dotted = f"{'.' * star.level}{star.module}.{name}"
                found = self._attribute_of(path, name, dotted, hops + 1, guessing=False)
                if found is not None:
                    return found
        return None

    def _real(self, module: ModuleInfo, stand_in: ClassInfo, hops: int) -> Symbol | None:
        """Return the class that another branch imports by the name of one that stands in for it: torch's, or one of the
        project, which is more than what an `except ImportError` leaves of it."""
        imported = module.imports.get(stand_in.name)
        found = self._follow(module, imported, hops) if imported is not None and hops <= _MAX_HOPS else None
        if found is None or not (isinstance(found.target, ClassInfo) or found.dotted.startswith("torch.")):
            return None
        return found

    def _guess(self, module: ModuleInfo, name: str, seen: set[ModuleInfo]) -> Symbol | None:
        """Return `name` as of the first star import of what is out of sight: no file in sight gives it to `module`."""
        seen.add(module)
        for star in module.stars if name not in module.body.stores else ():
            path = self.paths.find(module.path, star.module, star.level)
            if path is None:
                usual = _USUAL.get(name) if "torch" in module.text else None
                return self._follow(module, usual or Import(star.module, star.level, name), 0)
            inner = None if path.is_dir() else self.files.module(path)
            found = self._guess(inner, name, seen) if inner is not None and inner not in seen else None
            if found is not None:
                return found
        return None

    def _follow(self, module: ModuleInfo, imported: Import, hops: int) -> Symbol | None:
        path = self.paths.find(module.path, imported.module, imported.level)
        prefix = "." * imported.level + imported.module
        if imported.name is None:
            return Symbol(prefix, self._module_at(path))
        dotted = f"{prefix}.{imported.name}" if imported.module else f"{prefix}{imported.name}"
        if path is None:
            return self._outside(dotted)
        self.trails.name(module.path, path)
        if path == module.path:  # `from package import part` in the package's own file
            return self._inner(path, imported.name, dotted) or Symbol(dotted)
        return self._attribute_of(path, imported.name, dotted, hops + 1) or Symbol(dotted)

    def _outside(self, dotted: str) -> Symbol:
        """Return what a name outside the project stands for: with `deep`, its definition in an installed package."""
        dotted = documented_name(dotted)
        definition = self._deep().find(dotted) if self._deep is not None else None
        module = self.files.module(definition.path) if definition is not None else None
        if definition is None or module is None:
            return Symbol(dotted)
        body = module.body
        return Symbol(dotted, body.classes.get(definition.name) or body.functions.get(definition.name))

    def _module_at(self, path: Path | None) -> Target | None:
        return path if path is None or path.is_dir() else self.files.module(path)

    def _attribute_of(self, path: Path, name: str, dotted: str, hops: int, guessing: bool = True) -> Symbol | None:
        """Return `name` of the module or package at `path`, or else, `guessing`, of what it imports stars from."""
        if not path.is_dir() and (module := self.files.module(path)) is not None:
            found = self._lookup(module, name, hops) or (self._guess(module, name, set()) if guessing else None)
            if found is not None and found.target is not None:
                return Symbol(dotted, found.target, found.variable)
            if found is not None:
                return found
            if name in module.body.stores:
                return Symbol(dotted, module, name)
        return self._inner(path, name, dotted)

    def _inner(self, path: Path, name: str, dotted: str) -> Symbol | None:
        """Return the file or folder `name` in the package at `path`."""
        is_folder = path.is_dir()
        if not is_folder and path.name != "__init__.py":
            return None
        inner = self.paths.inside(path if is_folder else path.parent, name)
        return None if inner is None else Symbol(dotted, self._module_at(inner))

    def member(self, symbol: Symbol, name: str, reader: Path) -> Symbol | None:
        """Return the attribute `name` of a module, package, class or outside name, which the file `reader` asks for."""
        dotted = f"{symbol.dotted}.{name}"
        target = symbol.target
        if symbol.variable is not None:
            return None
        if target is None:
            return self._outside(dotted)
        if isinstance(target, (ModuleInfo, Path)):
            home = _home(target)
            self.trails.name(reader, home)
            known = self._members_of.get((home, dotted))
            found = known or self._attribute_of(home, name, dotted, 1) or Symbol(dotted)
            if found.target is not None:  # else the end of an import cycle, perhaps
                self._members_of[home, dotted] = found
                self.trails.read(reader, _home(found.target))
            return found
        return None

    def offered(self, owner: Symbol, reader: Path) -> Iterator[Symbol]:
        """Yield the public functions and classes of a file or package, its own and those it imports, for `reader`."""
        names = set[str]()
        for module, is_inner in self._with_stars(owner.target):
            self.trails.name(reader, module.path)
            body = module.body
            for name in (*body.functions, *body.classes, *(() if is_inner else module.imports)):
                found = None if name.startswith("_") or name in names else self.lookup(module, name)
                names.add(name)
                if found is not None and found.target is not None:
                    self.trails.read(reader, _home(found.target))
                    yield replace(found, dotted=f"{owner.dotted}.{name}")

    def _with_stars(self, target: Target | None, hops: int = 0) -> Iterator[tuple[ModuleInfo, bool]]:
        """Yield a file or package and those whose names it takes over, and whether it is one of these."""
        home = _home(target) if target is not None else None
        module = self.files.module(home) if home is not None and not home.is_dir() else None
        if module is None:
            return
        yield module, hops > 0
        for star in module.stars if hops < _MAX_HOPS else ():
            path = self.paths.find(module.path, star.module, star.level)
            if path is not None:
                yield from self._with_stars(path, hops + 1)

    def resolve(self, module: ModuleInfo, node: object) -> Symbol | None:
        """Return what an expression of names and attributes stands for at the top of `module`."""
        text = node if isinstance(node, str) else dotted_name(node)  # type: ignore[arg-type]
        if text is None:
            return None
        first, *rest = text.split(".")
        return self._members(self.lookup(module, first), rest, module)

    def _members(self, symbol: Symbol | None, names: Iterable[str], module: ModuleInfo) -> Symbol | None:
        for name in names:
            if symbol is None:
                return None
            symbol = self.member(symbol, name, module.path)
        return symbol

    def mentioning(self, word: str, callee: Path, purpose: Purpose) -> tuple[Path, ...]:
        """Return the project's files whose Python holds `word`: they may call what the file `callee` defines."""
        self.trails.ask(word, callee, purpose)
        return self.files.holders(word)

    # -- classes -------------------------------------------------------------------------------------------

    def ancestry(self, cls: ClassInfo) -> tuple[list[ClassInfo], list[str]]:
        """Return the project classes that `cls` inherits from, itself first, and the outside names among its bases."""
        mine: list[ClassInfo] = []
        outside: list[str] = []
        queue = [cls]
        while queue:
            current = queue.pop(0)
            if current in mine:
                continue
            mine.append(current)
            for base in current.bases:
                symbol = self.resolve_in(current.scope, base) if base is not None else None
                if symbol is not None and isinstance(symbol.target, ClassInfo):
                    queue.append(symbol.target)
                else:
                    outside.append(symbol.dotted if symbol else base or "?")
        return mine, outside

    def setter(self, cls: ClassInfo, name: str) -> FunctionInfo | None:
        """Return what runs where `name` of an instance of `cls` is assigned to, if that is a property."""
        return next((owner.setters.get(name) for owner in self.ancestry(cls)[0] if name in owner.methods), None)

    def resolve_in(self, scope: FunctionInfo, node: object) -> Symbol | None:
        """Like `resolve`, with what is defined, imported or given in `scope` and the functions around it first."""
        text = node if isinstance(node, str) else dotted_name(node)  # type: ignore[arg-type]
        if text is None:
            return None
        first, _, rest = text.partition(".")
        inner: FunctionInfo | None = scope
        while inner is not None and inner.parent is not None:
            own = inner.classes.get(first) or inner.functions.get(first)
            if own is not None and not rest:
                return Symbol(text, own)
            if first in inner.imports:
                return self.imported_in(inner, text)
            if first in inner.given:
                return None  # whatever the file calls so, here it is what a caller gives
            inner = inner.parent
        known = self._resolved.get(scope.module)
        if known is None:
            known = self._resolved[scope.module] = {}
        if text not in known:
            known[text] = self.resolve(scope.module, text)
        return known[text]

    def imported_in(self, function: FunctionInfo, text: str) -> Symbol | None:
        """Return what a name, or one with attributes behind it, stands for whose first part `function` imports."""
        known = self._imported.get(function)
        if known is None:
            known = self._imported[function] = {}
        if text not in known:
            first, *rest = text.split(".")
            known[text] = self._members(self.bound_by(function.module, function.imports[first]), rest, function.module)
        return known[text]

    def bound_by(self, module: ModuleInfo, imported: Import) -> Symbol | None:
        """Return what an import in `module` binds."""
        found = self._follow(module, imported, 0)
        if found is not None and found.target is not None:
            self.trails.read(module.path, _home(found.target))
        return found

    def method(self, cls: ClassInfo, name: str) -> FunctionInfo | None:
        """Return the method `name` of `cls` or of the nearest project class it inherits it from."""
        for owner in self.ancestry(cls)[0]:
            if name in owner.methods:
                return owner.methods[name]
        return None
