"""Findings as JSON can hold them, and back."""

from __future__ import annotations

from typing import Any

from modellint.diagnostic import (
    Applicability,
    Confidence,
    Diagnostic,
    Edit,
    Fix,
    Position,
    Related,
    RuntimeDetails,
    Severity,
    Span,
)


def pack(diagnostic: Diagnostic) -> list[Any]:
    """Return a finding as lists, texts and numbers."""
    fix, runtime = diagnostic.fix, diagnostic.runtime
    return [
        diagnostic.code,
        diagnostic.name,
        diagnostic.severity.value,
        diagnostic.confidence.value,
        diagnostic.message,
        diagnostic.filename,
        _numbers(diagnostic.span),
        diagnostic.cell,
        fix and [fix.applicability.value, fix.message, [[_numbers(e.span), e.content, e.cell] for e in fix.edits]],
        [[r.filename, r.position.row, r.position.column, r.message, r.cell] for r in diagnostic.related],
        diagnostic.url,
        diagnostic.subject,
        runtime
        and [
            runtime.target,
            runtime.module_path,
            runtime.module_type,
            runtime.node,
            dict(runtime.evidence),
            list(runtime.explained_by),
        ],
    ]


def unpack(data: list[Any]) -> Diagnostic:
    """Return the finding that `pack` was given; raises `ValueError`, `TypeError` or `KeyError` for anything else."""
    code, name, severity, confidence, message, filename, span, cell, fix, related, url, subject, runtime = data
    return Diagnostic(
        code=code,
        name=name,
        severity=Severity(severity),
        confidence=Confidence(confidence),
        message=message,
        filename=filename,
        span=Span.of(*span),
        cell=cell,
        fix=fix and Fix(Applicability(fix[0]), fix[1], tuple(Edit(Span.of(*s), text, c) for s, text, c in fix[2])),
        related=tuple(Related(file, Position(row, column), text, c) for file, row, column, text, c in related),
        url=url,
        runtime=runtime and _runtime(*runtime),
        subject=subject,
    )


def _runtime(
    target: str, path: str | None, kind: str | None, node: str | None, evidence: dict[str, Any], explained: list[str]
) -> RuntimeDetails:
    return RuntimeDetails(target, path, kind, node, evidence, tuple(explained))


def _numbers(span: Span) -> list[int]:
    return [span.start.row, span.start.column, span.end.row, span.end.column]
