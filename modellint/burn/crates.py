"""Cargo's view: which crate a file belongs to, which Burn it depends on, with which features."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]

Version = tuple[int, int, int]
# Features of the crate `burn` whose backends fuse and autotune kernels unless its default features are off
# (`default = [..., "autotune", "fusion", ...]` in the Cargo.toml of burn-wgpu and burn-cuda, 0.13 to 0.21).
GPU_BACKENDS = frozenset({"wgpu", "cuda", "rocm", "vulkan", "webgpu", "metal"})


@dataclass(frozen=True, slots=True)
class Dependency:
    """How a crate depends on Burn: the version where it is known, the features that are switched on."""

    version: Version | None
    features: frozenset[str]
    default_features: bool
    manifest: Path

    def has(self, feature: str) -> bool:
        """Tell whether a feature that the backends of a GPU have by default is on: `fusion`, `autotune`."""
        backends = self.features & GPU_BACKENDS
        return bool(backends) and (self.default_features or feature in self.features)


@dataclass(frozen=True)
class Crate:
    """A package: its folder, the name its library has in other crates, its manifest."""

    folder: Path
    manifest: Mapping[str, Any]
    workspace: Path
    workspace_manifest: Mapping[str, Any]

    @property
    def library(self) -> str:
        """The name under which other crates import the library."""
        package = self.manifest.get("package")
        library = self.manifest.get("lib")
        name = (library.get("name") if isinstance(library, dict) else None) or (
            package.get("name") if isinstance(package, dict) else None
        )
        return str(name or self.folder.name).replace("-", "_")

    @cached_property
    def dependencies(self) -> Mapping[str, Mapping[str, Any]]:
        """Every dependency by its local name, `workspace = true` followed, as tables."""
        shared = _table(_table(self.workspace_manifest, "workspace"), "dependencies")
        found: dict[str, Mapping[str, Any]] = {}
        for section in ("dependencies", "dev-dependencies", "build-dependencies"):
            for name, value in _table(self.manifest, section).items():
                entry: dict[str, Any] = dict(value) if isinstance(value, dict) else {"version": value}
                if entry.get("workspace"):
                    base = shared.get(name, {})
                    base = dict(base) if isinstance(base, dict) else {"version": base}
                    features = [*base.get("features", ()), *entry.get("features", ())]
                    base.setdefault("default-features", entry.get("default-features", True))
                    entry = {**base, "features": features, "folder": self.workspace}
                else:
                    entry["folder"] = self.folder
                found.setdefault(name.replace("-", "_"), entry)
        return found

    @property
    def uses_burn(self) -> bool:
        """Tell whether Burn, or one of its parts, is among the dependencies."""
        return any("burn" in str(entry.get("package", name)) for name, entry in self.dependencies.items())

    @cached_property
    def burn(self) -> Dependency | None:
        """How this crate depends on Burn; None where it does not, or is a part of Burn itself."""
        for name, entry in self.dependencies.items():
            if str(entry.get("package", name)) != "burn":
                continue
            features = {str(feature) for feature in entry.get("features", ())}
            features |= self._forwarded(name)
            default = entry.get("default-features", entry.get("default_features", True))
            return Dependency(self._locked(entry), frozenset(features), bool(default), self.folder / "Cargo.toml")
        return None

    def _forwarded(self, name: str) -> set[str]:
        """Return the features of a dependency that this crate's default features switch on."""
        table = _table(self.manifest, "features")
        queue, seen = ["default"], {"default"}
        while queue:
            for item in table.get(queue.pop(), ()):
                if str(item) not in seen:
                    seen.add(str(item))
                    queue.append(str(item))
        return {
            item.split("/", 1)[1]
            for item in seen
            if item.split("/")[0].rstrip("?").replace("-", "_") == name and "/" in item
        }

    def _locked(self, entry: Mapping[str, Any]) -> Version | None:
        for folder in (self.folder, self.workspace):
            lock = _read(folder / "Cargo.lock")
            for package in lock.get("package", ()):
                if isinstance(package, dict) and package.get("name") == "burn":
                    return parse_version(str(package.get("version", "")))
        if isinstance(path := entry.get("path"), str):
            other = load_crate(Path(entry["folder"]) / path)
            return other.version if other is not None else None
        return parse_version(str(entry.get("version", "")))

    @property
    def version(self) -> Version | None:
        """The version of the package itself."""
        package = _table(self.manifest, "package")
        version = package.get("version")
        if isinstance(version, dict):
            version = _table(_table(self.workspace_manifest, "workspace"), "package").get("version")
        return parse_version(str(version)) if version else None


def parse_version(text: str) -> Version | None:
    """Return the lowest version that a requirement such as `^0.17`, `=0.17.1` or `>=0.16, <0.18` admits."""
    match = re.search(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?", text)
    return (int(match[1]), int(match[2] or 0), int(match[3] or 0)) if match else None


def load_crate(folder: Path) -> Crate | None:
    """Read the package in `folder`; None where there is none, or its manifest is broken."""
    manifest = _read(folder / "Cargo.toml")
    if "package" not in manifest:
        return None
    for above in (folder, *folder.parents):
        outer = manifest if above == folder else _read(above / "Cargo.toml")
        if "workspace" in outer:
            return Crate(folder, manifest, above, outer)
        if (above / ".git").exists():
            break
    return Crate(folder, manifest, folder, manifest)


class Crates:
    """The crates on disk; every folder is looked at once."""

    def __init__(self) -> None:
        self._loaded: dict[Path, Crate | None] = {}
        self._around: dict[Path, Crate | None] = {}
        self._members: dict[Path, tuple[Path, ...]] = {}
        self._siblings: dict[Path, tuple[Crate, ...]] = {}
        self.patterns: set[tuple[Path, str]] = set()

    def manifests(self) -> frozenset[Path]:
        """Return the manifests and lock files that answers follow from, whether they exist or not."""
        folders = {*self._loaded, *self._around}
        for crate in filter(None, self._loaded.values()):
            paths = [(entry["folder"], entry.get("path")) for entry in crate.dependencies.values()]
            folders.update(Path(folder) / path for folder, path in paths if isinstance(path, str))
        around = {above for folder in folders for above in (folder, *folder.parents)}
        return frozenset(folder / name for folder in around for name in ("Cargo.toml", "Cargo.lock"))

    def of(self, path: Path) -> Crate | None:
        """Return the crate that a file belongs to: that of the nearest Cargo.toml with a package."""
        if (folder := path.parent) in self._around:
            return self._around[folder]
        folders = []
        found: Crate | None = None
        for folder in path.parents:
            if folder in self._around:
                found = self._around[folder]
                break
            folders.append(folder)
            if (folder / "Cargo.toml").is_file() and (found := self._load(folder)) is not None:
                break
        self._around.update(dict.fromkeys(folders, found))
        return found

    def siblings(self, crate: Crate) -> tuple[Crate, ...]:
        """Return the other packages that a crate can reach: members of its workspace and dependencies by path."""
        if crate.folder not in self._siblings:
            folders = dict.fromkeys(self._members_of(crate))
            for entry in crate.dependencies.values():
                if isinstance(path := entry.get("path"), str):
                    folders[(Path(entry["folder"]) / path).resolve()] = None
            folders.pop(crate.folder, None)
            found = [other for folder in folders if (other := self._load(folder)) is not None]
            self._siblings[crate.folder] = tuple(found)
        return self._siblings[crate.folder]

    def _members_of(self, crate: Crate) -> tuple[Path, ...]:
        if crate.workspace not in self._members:
            patterns = [str(item) for item in _table(crate.workspace_manifest, "workspace").get("members", ())]
            inside = [pattern for pattern in patterns if not Path(pattern).is_absolute()]
            self.patterns.update((crate.workspace, pattern) for pattern in inside)
            folders = [folder for pattern in inside for folder in sorted(crate.workspace.glob(pattern))]
            self._members[crate.workspace] = tuple(dict.fromkeys(folders))
        return self._members[crate.workspace]

    def _load(self, folder: Path) -> Crate | None:
        if folder not in self._loaded:
            self._loaded[folder] = load_crate(folder)
        return self._loaded[folder]


def _table(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = data.get(name)
    return value if isinstance(value, dict) else {}


_cache: dict[tuple[Path, float], Mapping[str, Any]] = {}


def _read(path: Path) -> Mapping[str, Any]:
    """Return a TOML file; what cannot be read or parsed tells nothing, and Cargo itself complains about it."""
    try:
        key = (path, path.stat().st_mtime)
        if key not in _cache:
            _cache[key] = tomllib.loads(path.read_text(encoding="utf-8"))
        return _cache[key]
    except (OSError, ValueError):
        return {}
