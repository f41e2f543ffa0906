"""Fixes that are proved before anyone sees them: the changed file is checked again."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from modellint.diagnostic import Diagnostic
from modellint.fixing import NotRewritable, compatible, rewrite
from modellint.sources import SourceFile, read_source

UNUSED = "ML001"
Recheck = Callable[[bytes], Sequence[Diagnostic] | None]
"""From the new content of a file to its findings; None where it could not be checked."""


def proved(found: Sequence[Diagnostic], source: SourceFile, data: bytes, recheck: Recheck) -> list[Diagnostic]:
    """Return `found`, the findings of a file with the content `data`, without the fixes that do not hold.

    A fix holds when the file still parses, the finding is gone and no other one came. The fixes that go together are
    proved together; where that fails, and for all others, each is proved by itself.
    """
    together, _ = compatible(found)
    good = set(together) if len(together) > 1 and _holds(found, together, source, data, recheck) else set()
    return [
        diagnostic
        if diagnostic.fix is None or diagnostic in good or _holds(found, [diagnostic], source, data, recheck)
        else replace(diagnostic, fix=None)
        for diagnostic in found
    ]


def _holds(
    found: Sequence[Diagnostic], fixed: list[Diagnostic], source: SourceFile, data: bytes, recheck: Recheck
) -> bool:
    _, edits = compatible(fixed)
    try:
        new = rewrite(source.path, data, edits)
        ast.parse(read_source(source.path, new).text)
    except (NotRewritable, SyntaxError, ValueError):
        return False
    left = recheck(new)
    if left is None:
        return False
    before, after = (Counter(d.code for d in some if d.code != UNUSED) for some in (found, left))
    gone = Counter(d.code for d in fixed if d.code != UNUSED)
    return after <= before - gone
