"""What is said of a file that could not be checked: it does not parse, or modellint itself failed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from modellint.diagnostic import Diagnostic, Span
from modellint.settings import Settings
from modellint.sources import shown

if TYPE_CHECKING:
    pass
from modellint.linting.checkers import language_of

CANNOT_PARSE = "ML002"


def cannot_parse(path: Path, settings: Settings, reason: str, row: int = 1, column: int = 1) -> list[Diagnostic]:
    """Return the finding ML002 where it is wanted; `reason` says what the parser, or the disk, complains of."""
    active = settings.rules.get(CANNOT_PARSE)
    if active is None:
        return []
    version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    parser = "tree-sitter" if language_of(path) == "rust" else version  # Rust comes here with bytes that are no text
    row, column = max(row, 1), max(column, 1)
    return [
        Diagnostic(
            code=active.rule.code,
            name=active.rule.name,
            severity=active.severity,
            confidence=active.rule.confidence,
            message=active.rule.message.format(parser=parser, reason=reason),
            filename=str(path),
            span=Span.of(row, column, row, column + 1),
        )
    ]


def internal_error(path: Path, error: Exception, so: str = "the file was not checked") -> str:
    """Return the sentence about a crash of ours in a file: the rule, the error and its place; `so` is what follows."""
    code = getattr(error, "code", None)
    cause = error.__cause__ or error
    rule = f" in rule {code}" if isinstance(code, str) else ""
    place = ""
    if (trace := cause.__traceback__) is not None:
        while trace.tb_next is not None:
            trace = trace.tb_next
        frame = trace.tb_frame
        place = f" ({Path(frame.f_code.co_filename).name}:{trace.tb_lineno})"
    reason = f"{type(cause).__name__}: {cause}{place}"
    return f"{shown(path)}: internal error{rule}: {reason}; {so}"
