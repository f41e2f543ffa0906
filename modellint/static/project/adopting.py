"""What stays of a file when its text changes: top-level statements that are the same keep their functions and classes.

What was worked out for a function is found again by the function itself. So a new version of a file takes over those of
the version before whose statement has not changed, with the nodes of the new tree.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from modellint.static.project.facts import ClassInfo, FunctionInfo, ModuleInfo
from modellint.static.project.trees import rows_of

_BREAK = re.compile(r"\r\n|\r|\n")
_Part = TypeVar("_Part", FunctionInfo, ClassInfo)


class Statement(NamedTuple):
    """A top-level statement: its text in whole lines, decorators included, and its first and last row."""

    text: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Shifts:
    """Where the rows of a version of a file are in the next one. `first` and `last` bound what stayed, in order."""

    first: tuple[int, ...]
    last: tuple[int, ...]
    by: tuple[int, ...]

    @property
    def any(self) -> bool:
        """Whether a row that stayed has another number now."""
        return any(self.by)

    def row(self, row: int) -> int | None:
        """Return the new number of a row, None for one that did not stay."""
        at = bisect_right(self.first, row) - 1
        return row + self.by[at] if at >= 0 and row <= self.last[at] else None


def adopt(old: ModuleInfo, new: ModuleInfo) -> Shifts:
    """Give `new` the functions and classes of `old` whose top-level statement is the same; `old` is of no use then."""
    if old.syntax.held < old.syntax.size:
        return Shifts((), (), ())
    before, after = statements(old), statements(new)
    pairs = _paired([s.text for s in before], [s.text for s in after])
    functions = _by_statement(old, before, old.functions), _by_statement(new, after, new.functions)
    classes = _by_statement(old, before, old.classes), _by_statement(new, after, new.classes)
    kept: dict[object, object] = {}
    for was, now in pairs:
        for function, fresh in zip(functions[0][was], functions[1][now], strict=True):
            function.move(new, fresh)
            kept[fresh] = function
        for cls, other in zip(classes[0][was], classes[1][now], strict=True):
            cls.move(new, other)
            kept[other] = cls
    new.functions = [_kept(kept, function) for function in new.functions]
    new.classes = [_kept(kept, cls) for cls in new.classes]
    body = new.body
    found = [_kept(kept, function) for function in body.functions.values()]
    body.contain_only(
        [_kept(kept, function) for function in body.nested],
        [*found, *(_kept(kept, cls) for cls in body.classes.values())],
    )
    old.functions, old.classes = [], []
    old.syntax.let_go()  # at once: the old version is in circles of references
    stayed = [(before[was].first, before[was].last, after[now].first - before[was].first) for was, now in pairs]
    return Shifts(*zip(*stayed, strict=True)) if stayed else Shifts((), (), ())


def statements(module: ModuleInfo) -> list[Statement]:
    """Return the top-level statements of a file."""
    lines = _BREAK.split(module.text)
    found = []
    for node in module.tree.body:
        first, last = rows_of(node)
        found.append(Statement("\n".join(lines[first - 1 : last]), first, last))
    return found


def _paired(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of what is the same at the beginning and at the end of two lists."""
    most = min(len(before), len(after))
    head = next((n for n in range(most) if before[n] != after[n]), most)
    tail = next((n for n in range(most - head) if before[-1 - n] != after[-1 - n]), most - head)
    behind = [(len(before) - n, len(after) - n) for n in range(tail, 0, -1)]
    return [(n, n) for n in range(head)] + behind


def _by_statement(module: ModuleInfo, parts: Sequence[Statement], items: Iterable[_Part]) -> list[list[_Part]]:
    """Return the functions or classes in each of the statements, in the order of the file."""
    first = [part.first for part in parts]
    found: list[list[_Part]] = [[] for _ in parts]
    for item in items:
        found[bisect_right(first, item.row) - 1].append(item)
    return found


def _kept(kept: dict[object, object], item: _Part) -> _Part:
    return kept.get(item, item)  # type: ignore[return-value]
