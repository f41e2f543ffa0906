"""Fixes that are proved before anyone sees them: the changed file is checked again."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from modellint.diagnostic import Diagnostic
from modellint.fixing import NotRewritable, compatible, rewrite
from modellint.sources import SourceFile, read_source

UNUSED = "ML001"
_OF_MODES = "ML1"
"""How the codes of the rules about modes begin."""
Recheck = Callable[[bytes], Sequence[Diagnostic] | None]
"""From the new content of a file to its findings; None where it could not be checked."""


def proved(
    found: Sequence[Diagnostic],
    source: SourceFile,
    data: bytes,
    whole: Recheck,
    alone: Recheck | None = None,
    *,
    seen_alone: bool = False,
) -> list[Diagnostic]:
    """Return `found`, the findings of a file with the content `data`, without the fixes that do not hold.

    A fix holds when the file still parses, the finding is gone and no other one came. The fixes that go together are
    proved together; where that fails, and for all others, each is proved by itself. `whole` checks the file as it was
    checked, `alone` without what its callers tell: that is quicker, and proves all that it finds as well, but for what
    sets modes, of which the callers have to tell what becomes. With `seen_alone`, they told nothing for `found` either.
    """
    proof = _Proof(found, source, data, whole, alone, seen_alone)
    together, _ = compatible(found)
    good = set(together) if len(together) > 1 and proof.holds(together) else set()
    return [
        diagnostic
        if diagnostic.fix is None or diagnostic in good or proof.holds([diagnostic])
        else replace(diagnostic, fix=None)
        for diagnostic in found
    ]


class _Proof:
    """What the fixes of one file are proved with."""

    def __init__(
        self,
        found: Sequence[Diagnostic],
        source: SourceFile,
        data: bytes,
        whole: Recheck,
        alone: Recheck | None,
        seen_alone: bool,
    ) -> None:
        self._found = found
        self._source = source
        self._data = data
        self._whole = whole
        self._alone = alone
        self._seen_alone = seen_alone

    def holds(self, fixed: list[Diagnostic]) -> bool:
        """Tell whether the fixes of some findings repair these and bring no others."""
        _, edits = compatible(fixed)
        try:
            new = rewrite(self._source.path, self._data, edits)
            ast.parse(read_source(self._source.path, new).text)
        except (NotRewritable, SyntaxError, ValueError):
            return False
        check, found = self._quickest(fixed)
        left = check(new)
        if left is None:
            return False
        before, after = (Counter(d.code for d in listed if d.code != UNUSED) for listed in (found, left))
        gone = Counter(d.code for d in fixed if d.code != UNUSED)
        return after <= before - gone

    def _quickest(self, fixed: list[Diagnostic]) -> tuple[Recheck, Sequence[Diagnostic]]:
        """Return how to check the file again, and what that finds before the fixes of `fixed`."""
        if self._alone is not None and not any(diagnostic.code.startswith(_OF_MODES) for diagnostic in fixed):
            if self._found_alone is not None and set(map(_place, fixed)) <= set(map(_place, self._found_alone)):
                return self._alone, self._found_alone
        return self._whole, self._found

    @cached_property
    def _found_alone(self) -> Sequence[Diagnostic] | None:
        if self._seen_alone or self._alone is None:
            return self._found
        return self._alone(self._data)


def _place(diagnostic: Diagnostic) -> tuple[str, int | None, object]:
    return diagnostic.code, diagnostic.cell, diagnostic.span
