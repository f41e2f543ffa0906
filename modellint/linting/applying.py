"""From findings with fixes to fixed files: applied in order, checked again, until nothing is left to apply."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from modellint.diagnostic import Applicability, Diagnostic
from modellint.fixing import compatible, rewrite
from modellint.linting.engine import Engine, FileReport
from modellint.linting.running import check_paths, prepare
from modellint.settings import Resolver
from modellint.sources import SourceError, SourceFile, read_source, shown

MAX_ROUNDS = 30  # of one file; each applies at least one fix
MAX_PASSES = 6  # over all files


@dataclass(frozen=True, slots=True)
class FixedFile:
    """What became of one file: its content before and after, how many findings were fixed, and what is left.

    `offered` counts the fixes that only `unsafe` would have applied.
    """

    report: FileReport
    before: bytes
    after: bytes
    fixed: int
    offered: int

    @property
    def changed(self) -> bool:
        """Whether anything was applied."""
        return self.before != self.after


def fix_file(engine: Engine, path: Path, data: bytes, *, named: bool, unsafe: bool) -> FixedFile:
    """Apply the fixes of one file to `data`, its content: the safe ones and, with `unsafe`, the others, too."""
    before, fixed = data, 0
    for _ in range(MAX_ROUNDS):
        report = engine.check(path, data, named)
        wanted = [d for d in report.diagnostics if d.fix is not None and (unsafe or _is_safe(d))]
        chosen, edits = compatible(wanted)
        if not edits:
            offered = sum(d.fix is not None and not _is_safe(d) for d in report.diagnostics)
            return FixedFile(report, before, data, fixed, offered)
        data = rewrite(path, data, edits)
        fixed += len(chosen)
    problem = f"{shown(path)}: fixes do not settle after {MAX_ROUNDS} rounds; the file was left as it is"
    return FixedFile(replace(engine.check(path, before, named), errors=(problem,)), before, before, 0, 0)


def fix_text(path: Path, data: bytes, resolver: Resolver, *, unsafe: bool) -> FixedFile:
    """Fix `data` as the content of the absolute `path`, which need not exist."""
    engine = Engine(resolver, checked=frozenset({path}), fixes=True)
    return fix_file(engine, path, data, named=True, unsafe=unsafe)


def _is_safe(diagnostic: Diagnostic) -> bool:
    return diagnostic.fix is not None and diagnostic.fix.applicability is Applicability.SAFE


def unified_diff(file: FixedFile) -> Iterator[str]:
    """Yield the lines of a unified diff from the old to the new text; for a notebook, one diff a cell."""
    name = shown(file.report.path)
    pairs = zip(_parts(file.report.path, file.before), _parts(file.report.path, file.after), strict=True)
    for (cell, old), (_, new) in pairs:
        title = name if cell is None else f"{name}:cell {cell}"
        for line in difflib.unified_diff(_lines(old), _lines(new), title, title):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    rows = text.split("\n")
    return [f"{row}\n" for row in rows[:-1]] + ([rows[-1]] if rows[-1] else [])


def _parts(path: Path, data: bytes) -> Iterator[tuple[int | None, str]]:
    try:
        source = read_source(path, data)
    except SourceError:
        return
    if not source.cells:
        yield None, source.text
        return
    yield from _cells(source)


def _cells(source: SourceFile) -> Iterator[tuple[int, str]]:
    rows = source.text.split("\n")
    ends = [*(start - 1 for start in source.cells[1:]), len(rows) - 1]
    for number, start, end in zip(source.numbers, source.cells, ends, strict=True):
        yield number, "".join(f"{row}\n" for row in rows[start - 1 : end])


Write = Callable[[Path, bytes, bytes], str | None]
"""Put new content into a file that is still as it was: path, old, new; returns what went wrong."""


def fix_paths(
    paths: Iterable[Path],
    resolver: Resolver,
    write: Write | None,
    *,
    unsafe: bool,
    force_exclude: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
    cache: bool = False,
    jobs: int = 1,
) -> list[FixedFile]:
    """Fix the files that `paths` lead to and write those that changed; return all of them, with what is left in each.

    A fix in one file can settle, or show, a finding in another one: all is checked again until nothing is written.
    What the cache knows is not checked again, and only files with a finding that a fixer may repair are looked at
    twice. Without `write`, files stay as they are. Other arguments and errors as in `check_paths`.
    """
    paths = list(paths)
    known: dict[Path, FixedFile] = {}
    for _ in range(MAX_PASSES):
        reports = list(
            check_paths(paths, resolver, force_exclude=force_exclude, progress=progress, cache=cache, jobs=jobs)
        )
        left = {report.path: report for report in reports}
        wanted = {report.path for report in reports if _may_be_fixed(report, resolver)}
        if not wanted:
            break
        prepared = prepare(paths, resolver, force_exclude=force_exclude, fixes=True)
        changed = False
        for path, named in prepared.files:
            if path not in wanted:
                continue
            file = _fix_one(prepared.engine, path, named, write, unsafe=unsafe)
            prepared.engine.changed(path)  # trials left a text of their own behind
            changed |= file.changed
            left[path] = file.report
            earlier = known.get(path, replace(file, fixed=0))
            known[path] = replace(file, before=earlier.before, fixed=earlier.fixed + file.fixed)
        if write is None or not changed:
            break
    return [_with_report(known.get(report.path), left[report.path]) for report in reports]


def _with_report(file: FixedFile | None, report: FileReport) -> FixedFile:
    """Return what became of a file, with what is left in it; None stands for one in which there was nothing to fix."""
    if file is None:
        return FixedFile(report, b"", b"", 0, 0)
    return file if file.report is report else replace(file, report=report, offered=0)


def _may_be_fixed(report: FileReport, resolver: Resolver) -> bool:
    """Tell whether a finding of a file comes with a fix, or its rule has a fixer."""
    catalogue = resolver.for_folder(report.path.parent).catalogue
    return any(d.fix or catalogue[d.code].fix for d in report.diagnostics)


def _fix_one(engine: Engine, path: Path, named: bool, write: Write | None, *, unsafe: bool) -> FixedFile:
    try:
        data = path.read_bytes()
    except OSError:
        return _with_report(None, engine.check(path, None, named))  # says what is wrong with it
    file = fix_file(engine, path, data, named=named, unsafe=unsafe)
    problem = write(path, file.before, file.after) if write is not None and file.changed else None
    if problem is None:
        return file
    report = engine.check(path, data, named)
    return FixedFile(replace(report, errors=(*report.errors, problem)), data, data, 0, file.offered)
