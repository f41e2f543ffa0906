"""What suppression comments do to findings, and which of them do nothing (ML001)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from modellint.catalog.document import suggestion
from modellint.diagnostic import Applicability, Diagnostic, Fix
from modellint.settings import Settings
from modellint.sources.suppressions import Code, Suppression, unknown_codes

UNUSED = "ML001"
Used = set[tuple[Suppression, Code | None]]


def suppress(diagnostics: Iterable[Diagnostic], suppressions: Sequence[Suppression]) -> tuple[list[Diagnostic], Used]:
    """Return the findings that no comment silences, and the (comment, code) pairs that did something."""
    kept: list[Diagnostic] = []
    used: Used = set()
    for diagnostic in diagnostics:
        hits = [
            (suppression, entry)
            for suppression in suppressions
            if suppression.kind != "malformed" and suppression.covers(diagnostic.span)
            for entry in [suppression.names(diagnostic.code, diagnostic.name)]
            if suppression.codes is None or entry is not None
        ]
        used.update(hits)
        if not hits:
            kept.append(diagnostic)
    return kept, used


def unused(
    path: Path, suppressions: Sequence[Suppression], used: Used, settings: Settings, language: str = "python"
) -> Iterator[Diagnostic]:
    """Yield an ML001 for each comment of `path` that silences nothing or names no rule; `language` is the file's."""
    if UNUSED not in settings.rules:
        return
    judged = {
        word.upper()
        for rule in (active.rule for active in settings.rules.values())
        if rule.runs_on == language and rule.code not in settings.ignored_in(path)
        for word in (rule.code, rule.name)
    }
    readers = {rule.code for rule in settings.catalogue.values() if rule.runs_on == language and rule.enabled}
    found: list[Diagnostic] = []
    for suppression in suppressions:
        found += _wrong_names(path, suppression, settings)
        found += _idle(path, suppression, used, settings, judged, complete=readers <= set(settings.rules))
    for diagnostic in found:
        if not any(s.covers(diagnostic.span) and s.names(UNUSED, diagnostic.name) for s in suppressions):
            yield diagnostic


def unused_where_it_ran(
    path: Path,
    suppressions: Sequence[Suppression],
    used: Used,
    settings: Settings,
    rows: Collection[int],
    codes: Collection[str],
) -> Iterator[Diagnostic]:
    """Yield an ML001 for each comment on the `rows` of `path` that names a rule of `codes` and silences nothing.

    A comment for a whole file is left alone: another model of the file may need it.
    """
    if UNUSED not in settings.rules:
        return
    allowed = set(codes) - settings.ignored_in(path)
    rules = [active.rule for active in settings.rules.values() if active.rule.code in allowed]
    judged = {word.upper() for rule in rules for word in (rule.code, rule.name)}
    for suppression in suppressions:
        first, last = suppression.rows
        if suppression.kind in ("ignore", "noqa") and suppression.codes and any(first <= row <= last for row in rows):
            for diagnostic in _idle(path, suppression, used, settings, judged, complete=False):
                if not any(s.covers(diagnostic.span) and s.names(UNUSED, diagnostic.name) for s in suppressions):
                    yield diagnostic


def _wrong_names(path: Path, suppression: Suppression, settings: Settings) -> Iterator[Diagnostic]:
    comment = suppression.line[suppression.column - 1 : suppression.end - 1]
    if suppression.kind == "malformed":
        message = f"`{comment}` silences nothing: write `# modellint: ignore[CODE]`"
        yield _finding(path, suppression, settings, message)
        return
    names = {rule.code: rule.name for rule in settings.catalogue.values()}
    for code in unknown_codes(suppression, names):
        hint = suggestion(code.text.upper(), names) or suggestion(code.text, names.values())
        yield _finding(path, suppression, settings, f"{code.text!r} is no rule{hint}")


def _idle(
    path: Path, suppression: Suppression, used: Used, settings: Settings, judged: set[str], *, complete: bool
) -> Iterator[Diagnostic]:
    comment = suppression.line[suppression.column - 1 : suppression.end - 1]
    if suppression.kind == "malformed":
        return
    if suppression.codes is None:
        if suppression.kind != "noqa" and complete and (suppression, None) not in used:
            message = f"`{comment}` silences nothing; where it is meant for `modellint trace`, name the rule"
            fix = Fix(Applicability.UNSAFE, "Remove the comment", (suppression.without(()),))
            yield _finding(path, suppression, settings, message, fix)
        return
    idle = tuple(c for c in suppression.codes if c.text.upper() in judged and (suppression, c) not in used)
    if idle:
        listed = " and ".join(code.text for code in idle)
        whole = len(idle) == len(suppression.codes)
        message = f"`{comment}` silences nothing" if whole else f"{listed} in `{comment}` silences nothing"
        title = "Remove the comment" if whole else f"Remove {listed} from the comment"
        fix = Fix(Applicability.SAFE, title, (suppression.without(idle),))
        yield _finding(path, suppression, settings, message, fix)


def _finding(
    path: Path, suppression: Suppression, settings: Settings, message: str, fix: Fix | None = None
) -> Diagnostic:
    active = settings.rules[UNUSED]
    return Diagnostic(
        code=active.rule.code,
        name=active.rule.name,
        severity=active.severity,
        confidence=active.rule.confidence,
        message=active.rule.message.format(message=message),
        filename=str(path),
        span=suppression.span,
        fix=fix,
    )
