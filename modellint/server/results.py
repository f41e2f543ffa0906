"""From what the engine reports to what the protocol shows, for one open file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from modellint.catalog import Rule
from modellint.diagnostic import Diagnostic
from modellint.linting import FileReport
from modellint.report import Report
from modellint.report.lsp import lsp_diagnostic
from modellint.server.documents import Document, Open
from modellint.server.shifting import shifted
from modellint.sources import SourceError, SourceFile, read_source

Items = Mapping[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Result:
    """What is known about one state of an open file.

    `epoch` counts the states of everything else. `findings` are those of the static pass, `traced` those of the last
    trace; `items` show both, by address. `problems` are sentences for the user.
    """

    document: Open
    epoch: int
    findings: tuple[Diagnostic, ...]
    parsed: bool
    items: Items = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    traced: tuple[Diagnostic, ...] = ()

    @property
    def shown(self) -> tuple[Diagnostic, ...]:
        """The findings of both passes."""
        return (*self.findings, *self.traced)


def result(
    document: Open,
    epoch: int,
    report: FileReport,
    previous: Result | None,
    traced: tuple[Diagnostic, ...],
    show: Callable[[tuple[Diagnostic, ...]], Items],
) -> Result:
    """Return the result of `report` and of what the last trace found.

    What a half-typed text hides is taken from the `previous` result.
    """
    findings = report.diagnostics
    if not report.parsed and previous is not None and isinstance(document, Document):
        assert isinstance(previous.document, Document)
        lasting = [d for d in previous.findings if previous.parsed or d.code != "ML002"]
        moved = shifted(lasting, _rows(previous.document), _rows(document))
        findings = tuple(sorted({*findings, *moved}, key=lambda d: d.sort_key))
    traced = tuple(finding for finding in traced if finding not in findings)
    items = show(tuple(sorted((*findings, *traced), key=lambda d: d.sort_key)) if traced else findings)
    return Result(document, epoch, findings, report.parsed, items, (*report.errors, *report.notes), traced)


def _rows(document: Document) -> list[str]:
    return [document.text.line(number) for number in range(len(document.text.starts))]


def items(
    document: Open,
    findings: tuple[Diagnostic, ...],
    encoding: str,
    opened: Mapping[Path, Open],
    rule: Callable[[str], Rule | None],
) -> Items:
    """Return the findings of `document` as the protocol has them, by the address under which each is shown.

    `opened` are all open files; `rule` gives a rule for its code.
    """
    shown: dict[str, list[dict[str, Any]]] = {uri: [] for uri in document.uris}
    names = {str(document.path), *(place.filename for finding in findings for place in finding.related)}
    # one look at each: the editor may close files meanwhile
    known = {name: opened.get(Path(name)) for name in names} if findings else {}
    sources = {name: _source(other) for name, other in known.items() if other is not None}
    report = Report(diagnostics=findings, checked=[], sources=sources)
    for finding in findings:
        item = lsp_diagnostic(finding, report, encoding)
        for place, related in zip(finding.related, item.get("relatedInformation", ()), strict=False):
            if (other := opened.get(Path(place.filename))) is not None:
                related["location"]["uri"] = other.cell_uri(place.cell)
        about = rule(finding.code)
        if "codeDescription" not in item and about is not None and about.references:
            item["codeDescription"] = {"href": about.references[0][1]}
        shown.setdefault(document.cell_uri(finding.cell), []).append(item)
    return shown


def _source(document: Open) -> SourceFile:
    try:
        return read_source(document.path, document.data)
    except SourceError:  # no text that the engine reads: the editor's lines are as good
        text = document.text.content if isinstance(document, Document) else ""
        return SourceFile(document.path, text.replace("\r\n", "\n").replace("\r", "\n"))
