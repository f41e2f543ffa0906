"""For people: each finding with its code and a mark under it, then one line that sums up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from modellint.diagnostic import Diagnostic, RuntimeDetails, Severity
from modellint.report._frame import frame, printable
from modellint.report._model import Report
from modellint.sources import shown

_COLORS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.INFO: "1;36"}
_BOLD, _DIM, _BLUE = "1", "2", "1;34"


def render(report: Report) -> Iterator[str]:
    """Yield the findings, those that another one explains under it, and the summary."""
    heads, folded = fold(report.diagnostics)
    for diagnostic in heads:
        yield "".join(f"{line}\n" for line in _finding(diagnostic, report, folded.get(id(diagnostic), ())))
        yield "\n"
    if not report.quiet and (report.checked or report.diagnostics):  # else standard error says what is wrong
        yield _paint(summary(report), _BOLD, report) + "\n"


def fold(diagnostics: Sequence[Diagnostic]) -> tuple[list[Diagnostic], dict[int, list[Diagnostic]]]:
    """Split findings into those shown by themselves and, by `id` of one of these, those that it explains."""
    heads: list[Diagnostic] = []
    folded: dict[int, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        cause = _cause(diagnostic, diagnostics)
        if cause is None:
            heads.append(diagnostic)
        else:
            folded.setdefault(id(cause), []).append(diagnostic)
    return heads, folded


def _cause(diagnostic: Diagnostic, diagnostics: Sequence[Diagnostic]) -> Diagnostic | None:
    runtime = diagnostic.runtime
    if runtime is None or not runtime.explained_by:
        return None
    places = [(diagnostic.filename, diagnostic.span.start.row)]
    places += [(related.filename, related.position.row) for related in diagnostic.related]
    for other in diagnostics:
        if other.code not in runtime.explained_by:
            continue
        if other.runtime is None:  # of the static pass, about the same line
            if (other.filename, other.span.start.row) in places:
                return other
        elif other.runtime.target == runtime.target and not other.runtime.explained_by:
            return other
    return None


def _finding(diagnostic: Diagnostic, report: Report, explained: Iterable[Diagnostic]) -> Iterator[str]:
    start = diagnostic.span.start
    cell = f"cell {diagnostic.cell}:" if diagnostic.cell is not None else ""
    place = printable(f"{shown(Path(diagnostic.filename))}:{cell}{start.row}:{start.column}")
    label = _paint(f"{diagnostic.severity.value}[{diagnostic.code}]", _COLORS[diagnostic.severity], report)
    unsure = "" if diagnostic.confidence.value != "possible" else " (possible)"
    message = " ".join(printable(line) for line in diagnostic.message.splitlines())
    yield f"{_paint(place, _BOLD, report)}: {label} {diagnostic.name}{unsure}: {message}"

    rows = list(frame(diagnostic, report))
    width = max((len(number) for number, _, _ in rows), default=1)
    bar = _paint("|", _BLUE, report)
    for number, code, mark in rows:
        yield f" {_paint(number.rjust(width), _BLUE, report)} {bar} {code}".rstrip()
        if mark:
            yield f" {' ' * width} {bar} {_paint(mark, _COLORS[diagnostic.severity], report)}"
    margin = f" {' ' * width} {_paint('=', _BLUE, report)} "
    if diagnostic.runtime is not None:
        yield from (margin + printable(line) for line in _runtime(diagnostic.runtime))
    for related in diagnostic.related:
        where = f"{shown(Path(related.filename))}:{related.position.row}:{related.position.column}"
        yield margin + printable(f"{where}: {related.message}")
    if diagnostic.fix is not None:
        unsafe = "" if diagnostic.fix.applicability.value == "safe" else " (unsafe fix)"
        yield margin + printable(f"fix: {diagnostic.fix.message}{unsafe}")
    for other in explained:
        text = printable(f"explains {other.code} {other.name}: {other.message}")
        yield margin + _paint(text, _DIM, report)


def _runtime(runtime: RuntimeDetails) -> Iterator[str]:
    module = ""
    if runtime.module_path is not None:
        kind = f" ({runtime.module_type})" if runtime.module_type else ""
        module = f", module {runtime.module_path or '(the model itself)'}{kind}"
    node = f", {runtime.node}" if runtime.node else ""
    yield f"in {runtime.target}{module}{node}"
    if runtime.evidence:
        yield "; ".join(f"{name}: {_value(value)}" for name, value in runtime.evidence.items())


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list | tuple):
        listed = ", ".join(_value(item) for item in value[:5])
        return listed + (f", ... ({len(value)})" if len(value) > 5 else "")
    return str(value)


def summary(report: Report) -> str:
    """Return the one line at the end."""
    if not report.diagnostics:
        return f"No findings in {_count(len(report.checked), report.unit)}."
    numbers = dict.fromkeys(Severity, 0)
    for diagnostic in report.diagnostics:
        numbers[diagnostic.severity] += 1
    parts = [_count(number, severity.value) for severity, number in numbers.items() if number]
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    files = len({diagnostic.filename for diagnostic in report.diagnostics})
    looked = _count(len(report.checked), report.unit)
    return f"Found {listed} in {_count(files, 'file')} ({looked} checked)."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _paint(text: str, color: str, report: Report) -> str:
    return f"\x1b[{color}m{text}\x1b[0m" if report.color else text
