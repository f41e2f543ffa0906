"""Names across files: modules, imports, re-exports, the crates of one workspace; files are read when asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from modellint.burn.carriers import Carriers, carriers
from modellint.burn.crates import Crate, Crates
from modellint.burn.items import Alias, Call, Function, ModulePath, RustFile, Scope, read_file
from modellint.sources import Read, SourceError, SourceFile, from_disk, read_source
from modellint.sources.projects import rust_files

_Seen = set[tuple[Path, ModulePath, str]]  # the names asked for in one question: re-exports go round in circles
# Folders below a crate in which every file, or every folder with a main.rs, is a target of its own.
_TARGETS = ("examples", "tests", "benches")


@dataclass(frozen=True, slots=True)
class Place:
    """A module: a file and the path inside it."""

    file: RustFile
    module: ModulePath

    @property
    def scope(self) -> Scope:
        """The names of the module."""
        return self.file.scopes.get(self.module, Scope())


@dataclass(frozen=True, slots=True)
class Struct:
    """A type that the workspace declares."""

    file: RustFile
    name: str


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A path that leads out of the workspace, or that nothing explains."""

    path: tuple[str, ...]


Target = Function | Alias | Struct | Place | Elsewhere


class Project:
    """The Rust files of a workspace, parsed once each."""

    def __init__(self, read: Read = from_disk) -> None:
        self._read = read
        self._files: dict[Path, RustFile | None] = {}
        self._crates = Crates()
        self._siblings: dict[Path, dict[str, Crate]] = {}
        self._texts: dict[Path, dict[Path, str]] = {}
        self._carriers: dict[frozenset[Path], Carriers] = {}
        self._folders: dict[Path, frozenset[Path]] = {}
        self._answers: dict[tuple[Path, ModulePath, tuple[str, ...]], Target] = {}
        self._roots: dict[Path, Place] = {}

    @property
    def looked_at(self) -> frozenset[Path]:
        """The files that were read, or found missing, beside those that were given."""
        return self._crates.manifests().union(self._files)

    @property
    def folders(self) -> frozenset[Path]:
        """The folders below which all Rust files were read."""
        return frozenset(self._texts)

    @property
    def patterns(self) -> frozenset[tuple[Path, str]]:
        """The patterns, each with its folder, by which members of workspaces were found."""
        return frozenset(self._crates.patterns)

    def add(self, source: SourceFile) -> RustFile:
        """Parse a file whose text is at hand; raise `BurnMissing` without tree-sitter."""
        known = self._files.get(source.path)
        if known is not None and known.text == source.text:
            return known
        file = self._files[source.path] = read_file(source.path, source.text)
        return file

    def forget(self, file: RustFile) -> None:
        """Free a file that nobody asked anything."""
        if not file.is_indexed:
            self._files.pop(file.path, None)

    def carriers(self, source: SourceFile) -> Carriers:
        """Return the words that Autodiff goes by in the workspace of a file."""
        crate = self.crate(source.path)
        if crate is None:
            return carriers([source.text])
        folders = self._reach(crate)
        if folders not in self._carriers and not any(other.uses_burn for other in self._others(crate).values()):
            self._carriers[folders] = Carriers()  # nobody hands names of Burn on here
        if folders not in self._carriers:
            texts = self._workspace(crate).items()
            self._carriers[folders] = carriers([text for path, text in texts if not self._is_test(path)])
        return self._carriers[folders]

    def _is_test(self, path: Path) -> bool:
        """Tell whether a file belongs to a test or a benchmark, whose names nobody else can use."""
        crate = self.crate(path)
        return crate is not None and path.relative_to(crate.folder).parts[0] in ("tests", "benches")

    def file(self, path: Path) -> RustFile | None:
        """Return a parsed file; None where it is missing or no text."""
        if path not in self._files:
            try:
                self._files[path] = (
                    read_file(path, read_source(path, self._read(path)).text) if path.is_file() else None
                )
            except (OSError, SourceError):
                self._files[path] = None
        return self._files[path]

    def crate(self, path: Path) -> Crate | None:
        """Return the crate of a file."""
        return self._crates.of(path)

    def callers(self, function: Function) -> Iterator[tuple[Function, Call]]:
        """Yield the calls in the workspace that lead to a free function."""
        crate = self.crate(function.file.path)
        if crate is None:
            candidates = [function.file]
        else:
            candidates = [
                file
                for path, text in self._workspace(crate).items()
                if function.name in text and (file := self.file(path)) is not None
            ]
        for file in candidates:
            for caller in file.functions:
                for call in caller.calls:
                    if call.path[-1:] == (function.name,) and _is(self.callee(caller, call), function):
                        yield caller, call

    def callee(self, caller: Function, call: Call) -> Function | Elsewhere | None:
        """Return the function that a call by path means; None for a method of a type that is not in sight."""
        if call.method or not call.path:
            return self._method(caller, call)
        if call.path[0] in caller.generics or (len(call.path) == 1 and call.path[0][:1].isupper()):
            return Elsewhere(call.path)  # a type parameter's, or the constructor of a type
        if call.path[0] == "Self" and len(call.path) == 2:
            return self._find(caller.file, caller.owner, call.path[1])
        found = self.resolve(Place(caller.file, caller.module), call.path)
        if isinstance(found, Function | Elsewhere):
            return found
        if len(call.path) > 1 and not isinstance(found, Place):
            owner = self.resolve(Place(caller.file, caller.module), call.path[:-1])
            if isinstance(owner, Struct):
                return self._find(owner.file, owner.name, call.path[-1])
        return None

    def _method(self, caller: Function, call: Call) -> Function | None:
        receiver = call.receiver
        if receiver is not None and receiver.type == "self" and caller.owner:
            return self._find(caller.file, caller.owner, call.method)
        return None

    def _find(self, file: RustFile, owner: str, name: str) -> Function | None:
        return next((f for f in file.functions if f.owner == owner and f.name == name), None)

    def resolve(self, place: Place, path: tuple[str, ...]) -> Target:
        """Return what a path means in a module; every question is answered once."""
        key = (place.file.path, place.module, path)
        if key not in self._answers:
            self._answers[key] = Elsewhere(path)  # for whoever asks on the way round a circle
            self._answers[key] = self._resolve(place, path, set())
        return self._answers[key]

    def _resolve(self, place: Place, path: tuple[str, ...], seen: _Seen) -> Target:
        if not path:
            return Elsewhere(path)
        first, rest = path[0], path[1:]
        if first == "crate":
            return self._walk(self._root(place), rest, path, seen)
        if first == "self":
            return self._walk(place, rest, path, seen)
        if first == "super":
            above = self._parent(place)
            while rest[:1] == ("super",) and above is not None:
                above, rest = self._parent(above), rest[1:]
            return self._walk(above, rest, path, seen) if above is not None else Elsewhere(path)
        found = self._lookup(place, first, seen)
        if found is None:
            crate = self.crate(place.file.path)
            other = self._others(crate).get(first) if crate is not None else None
            root = self.file(other.folder / "src" / "lib.rs") if other is not None else None
            return self._walk(Place(root, ()), rest, path, seen) if root is not None else Elsewhere(path)
        return self._step(found, rest, path, seen)

    def _walk(self, place: Place, path: tuple[str, ...], whole: tuple[str, ...], seen: _Seen) -> Target:
        if not path:
            return place
        found = self._lookup(place, path[0], seen)
        return self._step(found, path[1:], whole, seen) if found is not None else Elsewhere(whole)

    def _step(self, found: Target, rest: tuple[str, ...], whole: tuple[str, ...], seen: _Seen) -> Target:
        """Follow the rest of a path from what its beginning means."""
        if isinstance(found, Place):
            return self._walk(found, rest, whole, seen)
        if isinstance(found, Elsewhere):
            return Elsewhere((*found.path, *rest))
        if isinstance(found, Struct) and rest:
            method = self._find(found.file, found.name, rest[0])
            return method if method is not None else Elsewhere(whole)
        return found

    def _lookup(self, place: Place, name: str, seen: _Seen) -> Target | None:
        """Return what one name means in a module: what it declares, imports, or has from a glob."""
        key = (place.file.path, place.module, name)
        if key in seen:
            return None
        seen.add(key)
        scope = place.scope
        if name in scope.functions:
            return scope.functions[name]
        if name in scope.aliases:
            return scope.aliases[name]
        if name in scope.structs:
            return Struct(place.file, name)
        if name in scope.modules and (inner := self._enter(place, name)) is not None:
            return inner
        if name in scope.uses and scope.uses[name] != (name,):
            return self._resolve(place, scope.uses[name], seen)
        for glob in scope.globs:
            module = self.resolve(place, glob)
            if isinstance(module, Place) and module != place:
                found = self._lookup(module, name, seen)
                if found is not None and not isinstance(found, Elsewhere):
                    return found
        return None

    def _enter(self, place: Place, name: str) -> Place | None:
        inner = (*place.module, name)
        if inner in place.file.scopes:
            return Place(place.file, inner)
        path = place.file.path
        folder = (
            path.parent if path.name in ("mod.rs", "lib.rs", "main.rs") or self._is_root(path) else path.with_suffix("")
        )
        folder = folder.joinpath(*place.module)
        for candidate in (folder / f"{name}.rs", folder / name / "mod.rs"):
            if (file := self.file(candidate)) is not None:
                return Place(file, ())
        return None

    def _parent(self, place: Place) -> Place | None:
        if place.module:
            return Place(place.file, place.module[:-1])
        path = place.file.path
        if path.name in ("lib.rs", "main.rs") or self._is_root(path):
            return None
        folder = path.parent.parent if path.name == "mod.rs" else path.parent
        for candidate in (folder / "lib.rs", folder / "main.rs", folder / "mod.rs", folder.with_suffix(".rs")):
            if candidate != path and (file := self.file(candidate)) is not None:
                return Place(file, ())
        return None

    def _root(self, place: Place) -> Place:
        path = place.file.path
        if path not in self._roots:
            above = self._parent(Place(place.file, ()))
            self._roots[path] = Place(place.file, ()) if above is None else self._root(above)
        return self._roots[path]

    def _is_root(self, path: Path) -> bool:
        """Tell whether a file is a target of its own: a binary, an example, a test."""
        crate = self.crate(path)
        if crate is None:
            return True
        if path.parent.name in _TARGETS and path.parent.parent == crate.folder:
            return True
        if path.parent == crate.folder / "src" / "bin":
            return True
        tables = (crate.manifest.get(kind, ()) for kind in ("bin", "example", "test", "bench"))
        listed = (entry.get("path") for table in tables if isinstance(table, list) for entry in table)
        return any(isinstance(entry, str) and crate.folder / entry == path for entry in listed)

    def _others(self, crate: Crate) -> dict[str, Crate]:
        """Return the crates of the workspace by the name under which they are imported; the own library too."""
        if crate.folder not in self._siblings:
            found = {other.library: other for other in self._crates.siblings(crate)}
            found[crate.library] = crate
            for name, entry in crate.dependencies.items():
                package = str(entry.get("package", name)).replace("-", "_")
                if package in found:
                    found.setdefault(name, found[package])
            self._siblings[crate.folder] = found
        return self._siblings[crate.folder]

    def _reach(self, crate: Crate) -> frozenset[Path]:
        """Return the folders of a crate and of its siblings."""
        if crate.folder not in self._folders:
            self._folders[crate.folder] = frozenset(other.folder for other in self._others(crate).values())
        return self._folders[crate.folder]

    def _workspace(self, crate: Crate) -> dict[Path, str]:
        """Return the text of every Rust file of a crate and of its siblings."""
        texts: dict[Path, str] = {}
        for folder in sorted(self._reach(crate)):
            if folder not in self._texts:
                self._texts[folder] = {path: self._read(path).decode(errors="replace") for path in rust_files(folder)}
            texts |= self._texts[folder]
        return texts


def _is(found: object, function: Function) -> bool:
    return isinstance(found, Function) and found.key == function.key
