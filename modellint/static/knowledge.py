"""The libraries' knowledge (rules/frameworks/*.yaml), indexed by qualified name for the flow engine."""

from __future__ import annotations

import dataclasses
import fnmatch
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from modellint.catalog import Framework
from modellint.catalog.framework import GIVEN, Argument, Effect, Fact, Hook

Entry = TypeVar("Entry")
ABSENT, UNSURE, SOMETHING = object(), object(), object()
"""What is known of an argument that is no constant: not given; it may be anything; an object, so a true value."""


class NameTable(Generic[Entry]):
    """Entries by qualified name, in which `*` stands for any characters; exact names win, then longer patterns.

    An entry comes with the names that its pattern does not mean. Patterns are compiled when a name of the same
    library is first asked for.
    """

    def __init__(self, entries: Iterable[tuple[str, tuple[str, ...], Entry]]) -> None:
        self._exact: dict[str, Entry] = {}
        self._waiting: dict[str, list[tuple[str, tuple[str, ...], Entry]]] = {}
        self._compiled: dict[str, list[tuple[re.Pattern[str], re.Pattern[str] | None, Entry]]] = {}
        for name, excluded, entry in entries:
            if "*" in name:
                self._waiting.setdefault(_root(name), []).append((name, excluded, entry))
            else:
                self._exact.setdefault(name, entry)
        self._seen: dict[str, Entry | None] = {}

    def get(self, dotted: str) -> Entry | None:
        """Return the entry of `dotted`, None if there is none."""
        if dotted in self._exact:
            return self._exact[dotted]
        if dotted not in self._seen:
            found = (*self._patterns(_root(dotted)), *self._patterns(""))
            self._seen[dotted] = next(
                (e for pattern, but, e in found if pattern.match(dotted) and not (but and but.match(dotted))), None
            )
        return self._seen[dotted]

    def _patterns(self, root: str) -> list[tuple[re.Pattern[str], re.Pattern[str] | None, Entry]]:
        if root not in self._compiled:
            waiting = sorted(self._waiting.get(root, ()), key=lambda item: -len(item[0]))
            self._compiled[root] = [
                (_compiled((name,)), _compiled(but) if but else None, entry) for name, but, entry in waiting
            ]
        return self._compiled[root]


def _root(name: str) -> str:
    """Return the first part of a name or pattern; an empty text where a `*` stands in it."""
    first = name.split(".", 1)[0]
    return "" if "*" in first else first


def _compiled(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(name) for name in names))


def _facts(frameworks: Sequence[Framework], facts: Callable[[Framework], Iterable[Fact]]) -> NameTable[Fact]:
    return NameTable((fact.call, fact.excluded, fact) for framework in frameworks for fact in facts(framework))


def _names(
    frameworks: Sequence[Framework],
    names: Callable[[Framework], Iterable[str]],
    excluded: Callable[[Framework], tuple[str, ...]] = lambda framework: (),
) -> NameTable[bool]:
    return NameTable((name, excluded(framework), True) for framework in frameworks for name in names(framework))


class Knowledge:
    """What the known libraries do to modes, weights and gradients."""

    def __init__(self, frameworks: Sequence[Framework]) -> None:
        self.roots = frozenset(root for framework in frameworks for root in framework.roots)
        self.loaders = _facts(frameworks, lambda f: f.loaders)
        self.wrappers = _facts(frameworks, lambda f: f.wrappers)
        self.entry_points = _facts(frameworks, lambda f: f.entry_points)
        self.switches = frozenset(
            fact.call.rpartition(".")[2]
            for framework in frameworks
            for fact in framework.entry_points
            if fact.effect.runs == "nothing" and fact.effect.leaves != "same"
        )
        """The names of functions and methods that do nothing to a model but switch its mode."""
        self.runs = frozenset(
            fact.call.rpartition(".")[2]
            for framework in frameworks
            for fact in framework.entry_points
            if fact.effect.runs == "inference"
        )
        """The names of functions and methods that run a model; those that are patterns stand for no name."""
        self.runners = _facts(frameworks, lambda f: f.runners)
        self.contexts = _facts(frameworks, lambda f: f.contexts)
        self.module_bases = _names(frameworks, lambda f: f.module_bases, lambda f: f.no_modules)
        self.mode_dependent = _names(frameworks, lambda f: f.mode_dependent)
        self.mode_free = _names(frameworks, lambda f: f.mode_free)
        self.dropout_by_default = _names(frameworks, lambda f: f.dropout_by_default)
        self.loss_in_training = _names(frameworks, lambda f: f.loss_in_training)
        self.dependent_with: NameTable[tuple[Argument, ...]] = NameTable(
            (entry.call, (), entry.arguments) for f in frameworks for entry in f.dependent_with
        )
        self._hooks: NameTable[tuple[Hook, ...]] = NameTable(
            (base, (), tuple(hook for f in frameworks for hook in f.hooks if hook.base == base))
            for base in dict.fromkeys(hook.base for f in frameworks for hook in f.hooks)
        )

    def hook(self, base: str, method: str) -> Hook | None:
        """Return what a library does before it calls `method` of a subclass of `base`, None if it does not call it."""
        for hook in self._hooks.get(base) or ():
            if any(fnmatch.fnmatchcase(method, name) for name in hook.methods):
                return hook
        return None

    def is_library(self, dotted: str) -> bool:
        """Tell whether `dotted` belongs to a known library."""
        return dotted.split(".", 1)[0] in self.roots

    def method(self, table: NameTable[Fact], origins: Iterable[str], name: str) -> Fact | None:
        """Return what `table` says of the method `name` of an object that one of `origins` made."""
        for origin in origins:
            fact = table.get(f"{origin}.{name}")
            if fact is not None:
                return fact
        return None


def settle(fact: Fact, given: Callable[[Argument], Any]) -> Effect:
    """Return the effect of one call; `given` tells what is known of an argument: a constant, or one of the three above.

    What depends on an argument that may be anything is `unknown`.
    """
    effect = fact.effect
    for case in fact.cases:
        verdict = _holds(case.values, given(case.argument))
        if verdict is True:
            effect = dataclasses.replace(effect, **case.changes)
        elif verdict is None:
            unclear: dict[str, Any] = {
                k: "unknown" for k, v in case.changes.items() if k != "returns" and getattr(effect, k) != v
            }
            effect = dataclasses.replace(effect, **unclear)
    return effect


def _holds(values: tuple[Any, ...], known: Any) -> bool | None:
    if known is ABSENT:
        return False
    if known is UNSURE:
        return None
    if GIVEN in values and bool(known):
        return True
    if known is SOMETHING:  # true, and none of the listed constants as far as one can tell
        return False
    if isinstance(known, str):
        return any(isinstance(value, str) and fnmatch.fnmatchcase(known, value) for value in values)
    return any(known is value or (known == value and type(known) is type(value)) for value in values)
