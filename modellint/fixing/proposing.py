"""Which fix a finding gets: its rule names the fixer, the fixer changes the syntax tree, the change becomes edits."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from modellint.catalog import Rule
from modellint.diagnostic import Applicability, Diagnostic, Fix
from modellint.fixing.edits import difference
from modellint.sources import SourceFile

if TYPE_CHECKING:
    from modellint.fixing.document import Change, Document

    Fixer: TypeAlias = Callable[[Document, Diagnostic, Rule], Change | None]


class FixerCrash(Exception):
    """A fixer failed on a file: a defect of modellint, told with the rule's code."""

    def __init__(self, code: str, error: BaseException) -> None:
        super().__init__(f"the fix of {code} crashed: {type(error).__name__}: {error}")
        self.code = code


@cache
def fixer(name: str) -> Fixer:
    """Return the fixer that a rule's `fix.fixer` names: one module of `modellint.fixing.fixers`."""
    module = importlib.import_module(f"modellint.fixing.fixers.{name.replace('-', '_')}")
    found: Fixer = module.fix
    return found


def propose(source: SourceFile, diagnostics: Iterable[Diagnostic], rules: Mapping[str, Rule]) -> list[Diagnostic]:
    """Return `diagnostics` of `source` (rows of its whole text), each with a fix where its rule's fixer finds one.

    A finding that has a fix keeps it. Where LibCST cannot read the text there are no fixes. Raises `FixerCrash`.
    """
    diagnostics = list(diagnostics)
    if not any(_fixer_of(diagnostic, rules) for diagnostic in diagnostics):
        return diagnostics
    from modellint.fixing.document import Document, Unreadable

    try:
        document = Document(source)
    except Unreadable:
        return diagnostics
    return [_with_fix(diagnostic, document, rules) for diagnostic in diagnostics]


def _fixer_of(diagnostic: Diagnostic, rules: Mapping[str, Rule]) -> str | None:
    rule = rules.get(diagnostic.code)
    return rule.fix.fixer if rule is not None and rule.fix is not None and diagnostic.fix is None else None


def _with_fix(diagnostic: Diagnostic, document: Document, rules: Mapping[str, Rule]) -> Diagnostic:
    name = _fixer_of(diagnostic, rules)
    if name is None:
        return diagnostic
    rule = rules[diagnostic.code]
    try:
        change = fixer(name)(document, diagnostic, rule)
    except Exception as error:
        raise FixerCrash(rule.code, error) from error
    if change is None or rule.fix is None:
        return diagnostic
    edits = difference(document.source.text, change.module.code)
    if not edits:
        return diagnostic
    safe = change.safe and rule.fix.safety is Applicability.SAFE
    return replace(diagnostic, fix=Fix(Applicability.SAFE if safe else Applicability.UNSAFE, change.message, edits))
