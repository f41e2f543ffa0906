"""The libraries' knowledge (rules/frameworks/*.yaml), indexed by qualified name for the flow engine."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from modellint.catalog import Framework
from modellint.catalog.framework import EntryPoint, GradSwitch, Hooks, Loader, ModelMethod, Wrapper

Entry = TypeVar("Entry")


class NameTable(Generic[Entry]):
    """Entries by qualified name, in which `*` stands for any characters; exact names win, then longer patterns."""

    def __init__(self, entries: Iterable[tuple[str, Entry]]) -> None:
        self._exact: dict[str, Entry] = {}
        patterns: list[tuple[str, Entry]] = []
        for name, entry in entries:
            if "*" in name:
                patterns.append((name, entry))
            else:
                self._exact.setdefault(name, entry)
        patterns.sort(key=lambda item: -len(item[0]))
        self._patterns = [(re.compile(fnmatch.translate(name)), entry) for name, entry in patterns]
        self._seen: dict[str, Entry | None] = {}

    def get(self, dotted: str) -> Entry | None:
        """Return the entry of `dotted`, None if there is none."""
        if dotted in self._exact:
            return self._exact[dotted]
        if dotted not in self._seen:
            self._seen[dotted] = next((e for pattern, e in self._patterns if pattern.match(dotted)), None)
        return self._seen[dotted]


def _table(
    frameworks: Sequence[Framework], entries: Callable[[Framework], Iterable[Entry]], key: str = "call"
) -> NameTable[Entry]:
    return NameTable((getattr(entry, key), entry) for framework in frameworks for entry in entries(framework))


def _names(frameworks: Sequence[Framework], names: Callable[[Framework], Iterable[str]]) -> NameTable[bool]:
    return NameTable((name, True) for framework in frameworks for name in names(framework))


class Knowledge:
    """What the known libraries do to modes, weights and gradients."""

    def __init__(self, frameworks: Sequence[Framework]) -> None:
        self.roots = frozenset(root for framework in frameworks for root in framework.roots)
        self.loaders: NameTable[Loader] = _table(frameworks, lambda f: f.loaders)
        self.wrappers: NameTable[Wrapper] = _table(frameworks, lambda f: f.wrappers)
        self.grad_switches: NameTable[GradSwitch] = _table(frameworks, lambda f: f.grad_switches)
        self.entry_points: NameTable[EntryPoint] = _table(frameworks, lambda f: f.entry_points)
        self.hooks: NameTable[Hooks] = _table(frameworks, lambda f: f.hooks, "base")
        self.module_bases = _names(frameworks, lambda f: f.module_bases)
        self.mode_dependent = _names(frameworks, lambda f: f.mode_dependent)
        self.mode_free = _names(frameworks, lambda f: f.mode_free)
        self._methods: dict[str, list[ModelMethod]] = {}
        for framework in frameworks:
            for method in framework.methods:
                self._methods.setdefault(method.name, []).append(method)

    def method(self, name: str, origin: str | None) -> ModelMethod | None:
        """Return what is known of the method `name` of a model that `origin` (a qualified name) returned."""
        for method in self._methods.get(name, ()):
            if not method.of or (origin and any(fnmatch.fnmatchcase(origin, of) for of in method.of)):
                return method
        return None

    def is_library(self, dotted: str) -> bool:
        """Tell whether `dotted` belongs to a known library."""
        return dotted.split(".", 1)[0] in self.roots
