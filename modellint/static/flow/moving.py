"""Rows that moved: what was noted of one version of a file, in the rows of the next one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from modellint.static.flow.events import Event
from modellint.static.flow.leaving import Base
from modellint.static.flow.values import Site
from modellint.static.project import ModuleInfo
from modellint.static.project.adopting import Shifts


class Gone(Exception):
    """A row did not stay."""


class Mover:
    """Gives what was noted of a file the rows of its next version; raises `Gone` for rows that did not stay."""

    def __init__(self, old: ModuleInfo, new: ModuleInfo, shifts: Shifts) -> None:
        self._path = str(old.path)
        self._bodies = old.body, new.body
        self._shifts = shifts
        self._known: dict[int, tuple[Any, Any]] = {}

    def event(self, event: Event) -> None:
        """Move an event; it is changed in place."""
        event.key = self._moved(event.key)
        event.snapshots = [self._moved(snapshot) for snapshot in event.snapshots]
        event.leaves = {self._moved(site) for site in event.leaves}

    def base(self, base: Base) -> None:
        """Move what the top level left; what did not stay is no longer equal to anything."""
        base.grad, base.rest = self._or_open(base.grad), self._or_open(base.rest)
        base.names = {name: self._or_open(known) for name, known in base.names.items()}
        base.classes = {cls: self._or_open(known) for cls, known in base.classes.items()}

    def key(self, key: Any) -> Any:
        """Return the key of an object: where it was made, or what it was made from."""
        if not isinstance(key, tuple):
            return key
        first, *others = key
        if isinstance(first, Path):
            if str(first) != self._path:
                return self._moved(key)
            return (first, self._row(others[0]), *map(self._moved, others[1:]))
        if first in ("copy", "rows") and any(self._shifts.by):
            raise Gone
        return self._moved(key)

    def _or_open(self, value: Any) -> Any:
        try:
            return self._moved(value)
        except Gone:
            return object()

    def _row(self, row: int) -> int:
        moved = self._shifts.row(row)
        if moved is None:
            raise Gone
        return moved

    def _moved(self, value: Any) -> Any:
        kind = type(value)
        if kind is Site:
            if value.path != self._path:
                return value
            return value._replace(row=self._row(value.row), end_row=self._row(value.end_row))
        if value is self._bodies[0]:
            return self._bodies[1]
        if not isinstance(value, (tuple, frozenset, dict)) or not value:
            return value
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = value, self._rebuilt(value)
        return known[1]

    def _rebuilt(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._moved(inner) for key, inner in value.items()}
        parts = [self._moved(part) for part in value]
        if all(part is old for part, old in zip(parts, value, strict=True)):
            return value
        if isinstance(value, frozenset):
            return frozenset(parts)
        return value._make(parts) if hasattr(value, "_make") else tuple(parts)
