"""From findings with fixes to fixed files: applied in order, checked again, until nothing is left to apply."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from modellint.diagnostic import Applicability, Diagnostic
from modellint.fixing import compatible, rewrite
from modellint.linting.engine import Engine, FileReport
from modellint.linting.running import prepare
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
    for number, (start, end) in enumerate(zip(source.cells, ends, strict=True), 1):
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
) -> list[FixedFile]:
    """Fix the files that `paths` lead to and write those that changed; return all of them, with what is left in each.

    A fix in one file can settle, or show, a finding in another one: all is checked again until nothing is written.
    Without `write`, files stay as they are. Other arguments and errors as in `check_paths`.
    """
    paths = list(paths)
    first: dict[Path, FixedFile] = {}
    fixed: dict[Path, int] = {}
    for _ in range(MAX_PASSES):
        prepared = prepare(paths, resolver, force_exclude=force_exclude, fixes=True)
        results = [FixedFile(report, b"", b"", 0, 0) for report in prepared.troubles]
        for done, (path, named) in enumerate(prepared.files):
            progress(done, len(prepared.files))
            results.append(_fix_one(prepared.engine, path, named, write, unsafe=unsafe))
        progress(len(prepared.files), len(prepared.files))
        for file in results:
            fixed[file.report.path] = fixed.get(file.report.path, 0) + file.fixed
            first.setdefault(file.report.path, file)
        if write is None or not any(file.changed for file in results):
            break
    return [replace(file, before=first[file.report.path].before, fixed=fixed[file.report.path]) for file in results]


def _fix_one(engine: Engine, path: Path, named: bool, write: Write | None, *, unsafe: bool) -> FixedFile:
    try:
        data = path.read_bytes()
    except OSError:
        return FixedFile(engine.check(path, None, named), b"", b"", 0, 0)  # says what is wrong with it
    file = fix_file(engine, path, data, named=named, unsafe=unsafe)
    problem = write(path, file.before, file.after) if write is not None and file.changed else None
    if problem is None:
        return file
    report = engine.check(path, data, named)
    return FixedFile(replace(report, errors=(*report.errors, problem)), data, data, 0, file.offered)
