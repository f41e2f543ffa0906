"""From a name to what it stands for, across the files of the project, without importing anything."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from modellint.sources import Read, SourceError, SourceFile, from_disk, read_source
from modellint.sources.notebook import code_of, without_broken_cells
from modellint.sources.projects import python_files
from modellint.static.project.facts import ClassInfo, FunctionInfo, Import, ModuleInfo
from modellint.static.project.mentions import Mentions
from modellint.static.project.names import dotted_name
from modellint.static.project.scanning import scan
from modellint.static.project.trails import Purpose, Trails
from modellint.static.project.trees import parse_text

if TYPE_CHECKING:
    from modellint.static.project.adopting import Shifts
    from modellint.static.project.deep import Deep

Target: TypeAlias = "ClassInfo | FunctionInfo | ModuleInfo | Path"
# Trees are dropped between two files once the texts behind them pass this size: a tree takes 25 to 60 times the
# memory of its text.
TREE_BUDGET = 1_200_000
_MAX_HOPS = 12


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
    """The files below `root`, parsed on demand. Not safe for concurrent use.

    `trails` tell which file led to which other one. `version` counts how often a file got another
    text: what was derived from the old one is void then. `edits` are, where they are watched, the files that did since
    somebody emptied the list, with the new version and what stayed of the one before. `deep` makes,
    when first needed, what finds names in installed packages; without it they stay outside. `read` gives the content of
    a file: an editor's, where that is newer than the disk's.
    """

    def __init__(self, root: Path, deep: Callable[[], Deep] | None = None, read: Read = from_disk) -> None:
        self.root = root
        self._read = read
        self._deep = deep
        self.version = 0
        self._modules: dict[Path, ModuleInfo | None] = {}
        self._names: dict[ModuleInfo, dict[str, Symbol | None]] = {}
        self._aliasing: set[tuple[ModuleInfo, str]] = set()
        self._resolved: dict[ModuleInfo, dict[str, Symbol | None]] = {}
        self._found: dict[tuple[Path, str, int], Path | None] = {}
        self._listings: dict[Path, frozenset[str]] = {}
        self._dotted: dict[Path, str] = {}
        self._held = 0  # characters behind the trees in memory, as far as it is known
        self._words: Mentions | None = None
        self._mentions: dict[str, tuple[Path, ...]] = {}
        self.trails = Trails()
        self.edits: list[tuple[Path, ModuleInfo | None, Shifts | None]] | None = None

    def watch_edits(self) -> None:
        """Keep what stays of a file that gets another text, and note in `edits` which ones did."""
        self.edits = []

    def take_edits(self) -> list[tuple[Path, ModuleInfo | None, Shifts | None]]:
        """Return `edits`, and begin a new list."""
        edits, self.edits = self.edits or [], []
        return edits

    @property
    def loaded(self) -> Iterator[ModuleInfo]:
        """The files that were read so far."""
        return (module for module in self._modules.values() if module is not None)

    @property
    def folders(self) -> Iterable[Path]:
        """The folders whose names were looked up."""
        return self._listings

    def tables(self) -> Iterator[tuple[str, str]]:
        """Yield the path of every file that was parsed, with a digest of what looking up a name in it goes by."""
        for path, module in self._modules.items():
            yield str(path), "" if module is None else module.table()

    def add(self, source: SourceFile) -> ModuleInfo:
        """Parse `source` and make it the project's version of its file; raise `SyntaxError` if it does not parse."""
        known = self._modules.get(source.path)
        if known is not None and known.text == source.text:
            known.restore()
            return known
        module = scan(source.path, source.text, parse_text(source.text, source.path))
        if known is not None:  # the old one may be known under any name
            self._replaced(source.path, source.text.encode(errors="replace"), known, module)
        self._modules[source.path] = module
        return module

    def changed(self, path: Path) -> None:
        """Read `path` again, whose content may be another one; a text that does not parse leaves the last good one."""
        if path not in self._modules:
            if self._words is not None and path in self._words:
                with suppress(OSError):
                    self._mention(path, self._code(path))
            return
        known = self._modules[path]
        if known is not None and self._text(path) == known.text:
            return
        del self._modules[path]
        if self._module(path) is None and known is not None:
            self._modules[path] = known
        fresh = self._modules[path]
        if fresh is not known:
            self._replaced(path, fresh.text.encode(errors="replace") if fresh is not None else b"", known, fresh)

    def _text(self, path: Path) -> str | None:
        try:
            return read_source(path, self._read(path)).text
        except (SourceError, OSError):
            return None

    def _replaced(self, path: Path, text: bytes, old: ModuleInfo | None, new: ModuleInfo | None) -> None:
        if self.edits is not None:
            from modellint.static.project.adopting import adopt

            shifts = adopt(old, new) if old is not None and new is not None else None
            self.edits.append((path, new, shifts))
        self._names.clear()
        self._resolved.clear()
        self._mention(path, text)
        self.version += 1

    def _mention(self, path: Path, text: bytes) -> None:
        """Keep `mentioning` true for the new `text` of a file."""
        if self._words is None or path not in self._words:
            return
        self._words.replace(path, text)
        for word, paths in list(self._mentions.items()):
            if (path in paths) != (word.encode() in text):
                del self._mentions[word]

    def foresee(self, path: Path) -> None:
        """Gather the facts of the file `path`, if it can be parsed."""
        self._module(path)

    def load(self, path: Path, reader: Path, purpose: Purpose) -> ModuleInfo | None:
        """Return the file `path`, which is read on behalf of the file `reader`; None if it cannot be parsed."""
        self.trails.load(path, reader, purpose)
        return self._module(path)

    def registry(self, path: Path, reader: Path) -> ModuleInfo | None:
        """Return the file `path`, which `reader` imports, if it fills a registry."""
        self.trails.name(reader, path)
        module = self._module(path)
        if module is None or not module.registers:
            return None
        self.trails.read(reader, path)
        return module

    def _module(self, path: Path) -> ModuleInfo | None:
        if path not in self._modules:
            try:
                source = read_source(path, self._read(path))
                if source.kind == "notebook":
                    source = without_broken_cells(source)[0]
                module = scan(path, source.text, parse_text(source.text, path))
                self._held += module.size
                if self._held > TREE_BUDGET:  # an import leads to hundreds of files, of which most are asked for names
                    module.let_go()
                self._modules[path] = module
            except (SourceError, SyntaxError, ValueError, RecursionError, MemoryError, OSError):
                self._modules[path] = None
        return self._modules[path]

    def trim(self, keep: ModuleInfo) -> None:
        """Let go of the oldest trees, `keep` excepted, where together they are too large; their facts stay."""
        held = [m for m in self._modules.values() if m is not None and m is not keep and m.held]
        self._held = sum(module.held for module in held)
        for module in sorted(held, key=lambda module: module.turn):
            if self._held <= TREE_BUDGET:
                break
            self._held -= module.held
            module.let_go()

    # -- names ---------------------------------------------------------------------------------------------

    def lookup(self, module: ModuleInfo, name: str) -> Symbol | None:
        """Return what the global `name` of `module` stands for; None for builtins and plain variables."""
        names = self._names.get(module)
        if names is None:
            names = self._names[module] = {}
        if name not in names:
            names[name] = None  # an import cycle ends here
            found = names[name] = self._lookup(module, name, 0)
            if found is not None and found.target is not None:
                self.trails.read(module.path, _home(found.target))
        return names[name]

    def _lookup(self, module: ModuleInfo, name: str, hops: int) -> Symbol | None:
        own = module.body.classes.get(name) or module.body.functions.get(name)
        if own is not None:
            return Symbol(f"{self.dotted(module.path)}.{name}", own)
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
        outside: Symbol | None = None
        for star in module.stars:
            path = self.find(module.path, star.module, star.level)
            if path is None:
                outside = outside or self._follow(module, Import(star.module, star.level, name), hops)
                continue
            self.trails.name(module.path, path)
            found = self._attribute_of(path, name, f"{'.' * star.level}{star.module}.{name}", hops + 1)
            if found is not None:
                return found
        return outside

    def _follow(self, module: ModuleInfo, imported: Import, hops: int) -> Symbol | None:
        path = self.find(module.path, imported.module, imported.level)
        prefix = "." * imported.level + imported.module
        if imported.name is None:
            return Symbol(prefix, self._module_at(path))
        dotted = f"{prefix}.{imported.name}" if imported.module else f"{prefix}{imported.name}"
        if path is None:
            return self._outside(dotted)
        self.trails.name(module.path, path)
        return self._attribute_of(path, imported.name, dotted, hops + 1) or Symbol(dotted)

    def _outside(self, dotted: str) -> Symbol:
        """Return what a name outside the project stands for: with `deep`, its definition in an installed package."""
        definition = self._deep().find(dotted) if self._deep is not None else None
        module = self._module(definition.path) if definition is not None else None
        if definition is None or module is None:
            return Symbol(dotted)
        body = module.body
        return Symbol(dotted, body.classes.get(definition.name) or body.functions.get(definition.name))

    def _module_at(self, path: Path | None) -> Target | None:
        return path if path is None or path.is_dir() else self._module(path)

    def _attribute_of(self, path: Path, name: str, dotted: str, hops: int) -> Symbol | None:
        """Return `name` of the module or package at `path`."""
        is_folder = path.is_dir()
        folder = path if is_folder else path.parent
        if not is_folder and (module := self._module(path)) is not None:
            found = self._lookup(module, name, hops)
            if found is not None and found.target is not None:
                return Symbol(dotted, found.target, found.variable)
            if found is not None:
                return found
            if name in module.body.stores:
                return Symbol(dotted, module, name)
        if is_folder or path.name == "__init__.py":
            inner = self._in_folder(folder, name)
            if inner is not None:
                return Symbol(dotted, self._module_at(inner))
        return None

    def member(self, symbol: Symbol, name: str, reader: Path) -> Symbol | None:
        """Return the attribute `name` of a module, package, class or outside name, which the file `reader` asks for."""
        dotted = f"{symbol.dotted}.{name}"
        target = symbol.target
        if symbol.variable is not None:
            return None
        if target is None:
            return self._outside(dotted)
        if isinstance(target, (ModuleInfo, Path)):
            self.trails.name(reader, _home(target))
            found = self._attribute_of(_home(target), name, dotted, 1) or Symbol(dotted)
            if found.target is not None:
                self.trails.read(reader, _home(found.target))
            return found
        return None

    def public_names(self, target: Target, hops: int = 0) -> Iterator[str]:
        """Yield the names of functions and classes that a file or package offers, its own and those it imports."""
        module = self._module(_home(target)) if not _home(target).is_dir() else None
        if module is None:
            return
        names = (*module.body.functions, *module.body.classes, *(module.imports if hops == 0 else ()))
        yield from (name for name in names if not name.startswith("_"))
        for star in module.stars if hops < _MAX_HOPS else ():
            path = self.find(module.path, star.module, star.level)
            if path is not None:
                yield from self.public_names(path, hops + 1)

    def resolve(self, module: ModuleInfo, node: object) -> Symbol | None:
        """Return what an expression of names and attributes stands for at the top of `module`."""
        text = node if isinstance(node, str) else dotted_name(node)  # type: ignore[arg-type]
        if text is None:
            return None
        first, *rest = text.split(".")
        symbol = self.lookup(module, first)
        for name in rest:
            if symbol is None:
                return None
            symbol = self.member(symbol, name, module.path)
        return symbol

    # -- files ---------------------------------------------------------------------------------------------

    def dotted(self, path: Path) -> str:
        """Return the dotted name of the module at `path`, as far up as there are packages."""
        if path not in self._dotted:
            parts = [] if path.name == "__init__.py" else [path.stem]
            folder = path.parent
            while "__init__.py" in self._listing(folder) and folder != folder.parent:
                parts.append(folder.name)
                folder = folder.parent
            self._dotted[path] = ".".join(reversed(parts)) or path.parent.name
        return self._dotted[path]

    def find(self, path: Path, dotted: str, level: int) -> Path | None:
        """Return the file or folder that `dotted` means when imported from the file `path`."""
        key = (path if dotted == path.stem else path.parent, dotted, level)
        if key not in self._found:
            self._found[key] = self._find(path, dotted, level)
        return self._found[key]

    def _find(self, path: Path, dotted: str, level: int) -> Path | None:
        if level:
            folder = path.parent
            for _ in range(level - 1):
                folder = folder.parent
            return self._descend(folder, dotted)
        for folder in self._search_path(path):
            found = self._descend(folder, dotted)
            if found is not None and found != path:  # `import torch` in a package's own torch.py
                return found
        return None

    def _search_path(self, path: Path) -> Iterator[Path]:
        folders = [path.parent]
        while folders[-1] != self.root and folders[-1] != folders[-1].parent and self.root in folders[-1].parents:
            folders.append(folders[-1].parent)
        yield from folders
        for folder in folders:  # `src` layouts, and what scripts put into `sys.path`
            yield from (folder / name for name in ("src", "lib") if name in self._listing(folder))

    def _descend(self, folder: Path, dotted: str) -> Path | None:
        here: Path | None = folder
        for part in dotted.split(".") if dotted else ():
            if here is None:
                return None
            if here.name == "__init__.py":
                here = here.parent
            here = self._in_folder(here, part)
        if here is folder:  # `from . import x`
            return folder / "__init__.py" if "__init__.py" in self._listing(folder) else folder
        return here

    def _in_folder(self, folder: Path, name: str) -> Path | None:
        listing = self._listing(folder)
        if name in listing:
            inner = folder / name
            if "__init__.py" in self._listing(inner):
                return inner / "__init__.py"
            if f"{name}.py" not in listing and any(n.endswith(".py") for n in self._listing(inner)):
                return inner
        return folder / f"{name}.py" if f"{name}.py" in listing else None

    def _listing(self, folder: Path) -> frozenset[str]:
        if folder not in self._listings:
            try:
                self._listings[folder] = frozenset(os.listdir(folder))  # noqa: PTH208 - names alone
            except OSError:
                self._listings[folder] = frozenset()
        return self._listings[folder]

    def mentioning(self, word: str, callee: Path, purpose: Purpose) -> tuple[Path, ...]:
        """Return the project's files whose Python holds `word`: they may call what the file `callee` defines."""
        self.trails.ask(word, callee, purpose)
        return self.holders(word)

    def holders(self, word: str) -> tuple[Path, ...]:
        """Return the project's Python files and notebooks whose code holds `word`."""
        if word not in self._mentions:
            if self._words is None:
                self._words = Mentions(python_files(self.root), self._code)
            self._mentions[word] = self._words.of(word)
        return self._mentions[word]

    def _code(self, path: Path) -> bytes:
        """Return the content of a file, of a notebook its code; raise `OSError` where it cannot be read."""
        data = self._read(path)
        return code_of(data) if path.suffix == ".ipynb" else data

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

    def resolve_in(self, scope: FunctionInfo, node: object) -> Symbol | None:
        """Like `resolve`, with the classes and functions defined in the functions around `scope` first."""
        text = node if isinstance(node, str) else dotted_name(node)  # type: ignore[arg-type]
        if text is None:
            return None
        if "." not in text:
            inner: FunctionInfo | None = scope
            while inner is not None and inner.parent is not None:
                own = inner.classes.get(text) or inner.functions.get(text)
                if own is not None:
                    return Symbol(text, own)
                inner = inner.parent
        known = self._resolved.get(scope.module)
        if known is None:
            known = self._resolved[scope.module] = {}
        if text not in known:
            known[text] = self.resolve(scope.module, text)
        return known[text]

    def method(self, cls: ClassInfo, name: str) -> FunctionInfo | None:
        """Return the method `name` of `cls` or of the nearest project class it inherits it from."""
        for owner in self.ancestry(cls)[0]:
            if name in owner.methods:
                return owner.methods[name]
        return None
