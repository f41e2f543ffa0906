"""Fixes that are proved before anyone sees them: the changed file is checked again."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from modellint.diagnostic import Diagnostic
from modellint.fixing import NotRewritable, compatible, rewrite
from modellint.sources import SourceFile, read_source

UNUSED = "ML001"
_OF_MODES = "ML1"
"""How the codes of the rules about modes begin."""
Recheck = Callable[[bytes], Sequence[Diagnostic] | None]
"""From the new content of a file to its findings; None where it could not be checked."""


@dataclass(frozen=True)
class View:
    """A way to check a file again that sees another part of the project; `known` is what it surely finds in `data`."""

    recheck: Recheck
    data: bytes
    known: Sequence[Diagnostic] | None = None

    @cached_property
    def found(self) -> Sequence[Diagnostic] | None:
        """What it finds before any fix."""
        return self.recheck(self.data) if self.known is None else self.known


def proved(
    found: Sequence[Diagnostic],
    source: SourceFile,
    data: bytes,
    recheck: Recheck,
    alone: View | None = None,
    apart: View | None = None,
) -> list[Diagnostic]:
    """Return `found`, the findings of a file with the content `data`, without the fixes that do not hold.

    A fix holds when the file still parses, the finding is gone and no other one came. The fixes that go together are
    proved together; where that fails, so are those of the rules that then find nothing more than they should, and each
    of the others is proved by itself: a proof may take as long as the check did. `recheck` checks the file as it was
    checked. `alone` does so without what its callers tell, which is quicker, and proves all that it finds as well, but
    for what sets modes: what becomes of these the callers tell. `apart` checks the file as if no other one was checked,
    which then tells of what it does to them: that proves what sets modes, where it finds it.
    """
    proof = _Proof(found, source, data, recheck, alone, apart)
    good = proof.holding_together()
    return [
        diagnostic
        if diagnostic.fix is None or diagnostic in good or not proof.wrong_after([diagnostic])
        else replace(diagnostic, fix=None)
        for diagnostic in found
    ]


class _Proof(NamedTuple):
    """What the fixes of one file are proved with; the fields are the parameters of `proved`."""

    found: Sequence[Diagnostic]
    source: SourceFile
    data: bytes
    recheck: Recheck
    alone: View | None
    apart: View | None

    def holding_together(self) -> set[Diagnostic]:
        """Return findings whose fixes, made together, hold: all that go together, else those of the rules not to blame.

        None at all where no two are left to prove at once.
        """
        together, _ = compatible(self.found)
        while len(together) > 1:
            wrong = self.wrong_after(together)
            if not wrong:
                return set(together)
            left = [diagnostic for diagnostic in together if diagnostic.code not in wrong]
            together = left if len(left) < len(together) else []
        return set()

    def wrong_after(self, fixed: list[Diagnostic]) -> Set[str]:
        """Return the codes of which the fixes of some findings leave more than they should, none where they hold.

        Where the file cannot be checked afterwards, those are the codes of all of `fixed`.
        """
        _, edits = compatible(fixed)
        everything = {diagnostic.code for diagnostic in fixed}
        try:
            new = rewrite(self.source.path, self.data, edits)
            ast.parse(read_source(self.source.path, new).text)
        except (NotRewritable, SyntaxError, ValueError):
            return everything
        check, found = self._view(fixed)
        left = check(new)
        if left is None:
            return everything
        before, after = (Counter(d.code for d in listed if d.code != UNUSED) for listed in (found, left))
        gone = Counter(d.code for d in fixed if d.code != UNUSED)
        return (after - (before - gone)).keys()

    def _view(self, fixed: list[Diagnostic]) -> tuple[Recheck, Sequence[Diagnostic]]:
        """Return how to check the file again, and what that finds before the fixes of `fixed`."""
        modes = any(diagnostic.code.startswith(_OF_MODES) for diagnostic in fixed)
        view = self.apart if modes else self.alone
        if view is not None and view.found is not None and set(map(_place, fixed)) <= set(map(_place, view.found)):
            return view.recheck, view.found
        return self.recheck, self.found


def _place(diagnostic: Diagnostic) -> tuple[str, int | None, object]:
    return diagnostic.code, diagnostic.cell, diagnostic.span
