"""What every pass produces and every front end consumes: frozen, and free of dependencies."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class Severity(str, enum.Enum):
    """How bad a finding is. Infos never change the exit status."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """Larger is worse, so that `--fail-on` is one comparison."""
        return {"info": 0, "warning": 1, "error": 2}[self.value]


class Confidence(str, enum.Enum):
    """How sure the analysis is. `POSSIBLE` findings are hidden unless asked for."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"

    @property
    def rank(self) -> int:
        """Larger is surer, so that `--min-confidence` is one comparison."""
        return {"possible": 0, "likely": 1, "certain": 2}[self.value]


class Applicability(str, enum.Enum):
    """`SAFE` fixes keep what the author meant; `UNSAFE` ones change behaviour and are applied on request."""

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a text: 1-based row, 1-based column counted in code points."""

    row: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of text: `end` is the position just behind the last character."""

    start: Position
    end: Position

    @classmethod
    def of(cls, row: int, column: int, end_row: int, end_column: int) -> Span:
        """Build a span from four 1-based numbers."""
        return cls(Position(row, column), Position(end_row, end_column))


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text of `span` by `content`; in a notebook, `span` counts from the first line of the cell `cell`."""

    span: Span
    content: str
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that remove a finding; they never overlap each other."""

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that belongs to a finding's story (where the model was created, which caller is wrong).

    In a notebook, `position` counts from the first line of the cell `cell`.
    """

    filename: str
    position: Position
    message: str
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class RuntimeDetails:
    """What only the runtime pass knows about a finding."""

    target: str
    module_path: str | None = None
    module_type: str | None = None
    node: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    explained_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding at one place.

    `filename` is absolute. `cell` is the 1-based number of a cell among all cells of a notebook, of text or code, and
    `span` then counts from that cell's first line; it is None for every other kind of file. `subject` is the expression
    that the finding is about, as the source writes it: what a fixer looks for. It is not printed.
    """

    code: str
    name: str
    severity: Severity
    confidence: Confidence
    message: str
    filename: str
    span: Span
    cell: int | None = None
    fix: Fix | None = None
    related: tuple[Related, ...] = ()
    url: str | None = None
    runtime: RuntimeDetails | None = None
    subject: str | None = None

    @property
    def sort_key(self) -> tuple[str, int, Position, str, str]:
        """Order of every report: by file, place, code, message."""
        return (self.filename, self.cell or 0, self.span.start, self.code, self.message)


def _position(position: Position) -> dict[str, int]:
    return {"row": position.row, "column": position.column}


def to_dict(diagnostic: Diagnostic) -> dict[str, Any]:
    """Return the JSON object of a finding, as `--output-format json` prints it (shape after ruff's)."""
    fix = diagnostic.fix
    item: dict[str, Any] = {
        "code": diagnostic.code,
        "name": diagnostic.name,
        "severity": diagnostic.severity.value,
        "confidence": diagnostic.confidence.value,
        "message": diagnostic.message,
        "filename": diagnostic.filename,
        "location": _position(diagnostic.span.start),
        "end_location": _position(diagnostic.span.end),
        "cell": diagnostic.cell,
        "fix": fix
        and {
            "applicability": fix.applicability.value,
            "message": fix.message,
            "edits": [
                {
                    "location": _position(edit.span.start),
                    "end_location": _position(edit.span.end),
                    "content": edit.content,
                    **({} if edit.cell is None else {"cell": edit.cell}),
                }
                for edit in fix.edits
            ],
        },
        "related": [
            {
                "filename": r.filename,
                "location": _position(r.position),
                "message": r.message,
                **({} if r.cell is None else {"cell": r.cell}),
            }
            for r in diagnostic.related
        ],
        "url": diagnostic.url,
    }
    if (runtime := diagnostic.runtime) is not None:
        item |= {
            "target": runtime.target,
            "module_path": runtime.module_path,
            "module_type": runtime.module_type,
            "node": runtime.node,
            "evidence": dict(runtime.evidence),
            "explained_by": list(runtime.explained_by),
        }
    return item
