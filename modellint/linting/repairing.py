"""Fixes that are proved before anyone sees them: the changed file is checked again."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from modellint.diagnostic import Diagnostic
from modellint.fixing import NotRewritable, compatible, rewrite
from modellint.sources import SourceFile, read_source

UNUSED = "ML001"
Recheck = Callable[[bytes], Sequence[Diagnostic] | None]
"""From the new content of a file to its findings; None where it could not be checked."""


def proved(
    found: Sequence[Diagnostic], source: SourceFile, data: bytes, rechecks: Sequence[Recheck]
) -> list[Diagnostic]:
    """Return `found`, the findings of a file with the content `data`, without the fixes that do not hold.

    A fix holds when the file still parses, the finding is gone and no other one came. The fixes that go together are
    proved together; where that fails, and for all others, each is proved by itself. Of the `rechecks` the last one
    sees what led to `found`; one before it is asked where it has the finding, too, before the fix.
    """
    views = [_View(recheck, None if recheck is rechecks[-1] else recheck(data)) for recheck in rechecks]
    together, _ = compatible(found)
    good = set(together) if len(together) > 1 and _holds(found, together, source, data, views) else set()
    return [
        diagnostic
        if diagnostic.fix is None or diagnostic in good or _holds(found, [diagnostic], source, data, views)
        else replace(diagnostic, fix=None)
        for diagnostic in found
    ]


class _View(NamedTuple):
    """A way to check a file, and what it finds before any fix; None for what is known to have led to the findings."""

    recheck: Recheck
    before: Sequence[Diagnostic] | None


def _holds(
    found: Sequence[Diagnostic], fixed: list[Diagnostic], source: SourceFile, data: bytes, views: Sequence[_View]
) -> bool:
    _, edits = compatible(fixed)
    try:
        new = rewrite(source.path, data, edits)
        ast.parse(read_source(source.path, new).text)
    except (NotRewritable, SyntaxError, ValueError):
        return False
    wanted = {_place(diagnostic) for diagnostic in fixed}
    view = next(view for view in views if view.before is None or wanted <= set(map(_place, view.before)))
    left = view.recheck(new)
    if left is None:
        return False
    some = found if view.before is None else view.before
    before, after = (Counter(d.code for d in listed if d.code != UNUSED) for listed in (some, left))
    gone = Counter(d.code for d in fixed if d.code != UNUSED)
    return after <= before - gone


def _place(diagnostic: Diagnostic) -> tuple[str, int | None, object]:
    return diagnostic.code, diagnostic.cell, diagnostic.span
