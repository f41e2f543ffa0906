"""A run over paths: discovery, the cache, one process or several, reports in the order of the files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from modellint.linting.checkers import MakeChecker, go_on
from modellint.linting.engine import Engine, FileReport
from modellint.settings import Resolver
from modellint.sources import Read, absolute, discover, from_disk, shown

if TYPE_CHECKING:
    from modellint.linting.cache import Records
    from modellint.linting.notes import Notes

# So many bytes that are not screened out are worth one more process: its start, and what it works out once more.
_WORTH = 100_000


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run before its first file: what cannot be checked, what checks the rest, and the files with "was it named?"."""

    troubles: list[FileReport]
    engine: Engine
    files: list[tuple[Path, bool]]


def check_paths(
    paths: Iterable[Path],
    resolver: Resolver,
    *,
    force_exclude: bool = False,
    make_checker: MakeChecker | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    fixes: bool = False,
    cache: bool = False,
    jobs: int = 1,
) -> Iterator[FileReport]:
    """Yield a report for every path that is checked, or that could not be, in the order of discovery.

    Files named by `paths` are checked although `exclude` names them, unless `force_exclude`. `progress` hears
    how many files of how many are done. With `fixes`, findings come with the fix that repairs them. With `cache`, what
    is known from earlier runs is not worked out again. At most `jobs` processes check, where the work is worth it, this
    one alone with a `make_checker`. Raises what `Resolver.for_folder` raises.
    """
    read: Read = from_disk
    records: Records | None = None
    if cache:
        from modellint.linting.cache import Records
        from modellint.linting.notes import take_notes
        from modellint.linting.states import Reads

        read = Reads()
    prepared = prepare(paths, resolver, force_exclude=force_exclude, make_checker=make_checker, fixes=fixes, read=read)
    yield from prepared.troubles
    if cache:
        records = Records(prepared.engine, [path for path, _ in prepared.files], fixes)
    known = {path: None if records is None else records.findings(path) for path, _ in prepared.files}
    unknown = [(path, named) for path, named in prepared.files if known[path] is None]
    found = {path: FileReport(path, diagnostics) for path, diagnostics in known.items() if diagnostics is not None}
    total = len(prepared.files)
    progress(len(found), total)
    notes: list[Notes] = []
    for report in _reports(prepared.engine, unknown, jobs if make_checker is None else 1, notes):
        found[report.path] = report
        progress(len(found), total)
        if records is not None:
            records.add(report)
    for path, _ in prepared.files:
        yield found[path]
    if records is not None:
        records.save([take_notes(prepared.engine, [path for path, _ in unknown]), *notes])


def _reports(engine: Engine, files: list[tuple[Path, bool]], jobs: int, notes: list[Notes]) -> Iterator[FileReport]:
    """Yield the reports of `files`; `notes` gets what other processes have read for them."""
    if jobs < 2 or len(files) < 2:
        yield from _alone(engine, files)
        return
    weights: dict[Path, int] = {}
    for path, named in files:
        screened = engine.screen(path, named)
        if isinstance(screened, FileReport):
            yield screened
        else:
            weights[path] = screened
    files = [(path, named) for path, named in files if path in weights]
    count = min(jobs, sum(weights.values()) // _WORTH, len(files))
    if count < 2:
        yield from _alone(engine, files)
        return
    from modellint.linting.cores import Team

    team = Team(engine, weights, {path for path, named in files if named}, count)
    yield from team.reports()
    notes += team.notes


def _alone(engine: Engine, files: list[tuple[Path, bool]]) -> Iterator[FileReport]:
    """Yield the reports of `files`, in an order in which few trees are parsed once more.

    What is imported tends to lie deeper than what imports it, and packages begin with files that import the rest.
    """
    for path, named in sorted(files, key=lambda file: (-len(file[0].parts), file[0].name == "__init__.py")):
        yield engine.check(path, None, named)


def prepare(
    paths: Iterable[Path],
    resolver: Resolver,
    *,
    force_exclude: bool = False,
    make_checker: MakeChecker | None = None,
    fixes: bool = False,
    read: Read = from_disk,
    checkpoint: Callable[[], None] = go_on,
    edited: bool = False,
) -> Prepared:
    """Find the files of a run; arguments and errors as in `check_paths`, `read` and `checkpoint` as in `Engine`."""
    troubles: list[FileReport] = []

    def excluded(path: Path) -> bool:
        return resolver.for_folder(path.parent).excludes(path)

    def missing(path: Path, problem: str) -> None:
        troubles.append(FileReport(path, errors=(f"{shown(path)}: {problem}",)))

    def skipped(path: Path, problem: str) -> None:
        troubles.append(FileReport(path, notes=(f"{shown(path)}: {problem}, left out",)))

    paths = list(paths)
    files = list(discover(paths, excluded, missing, skipped))
    if force_exclude:
        files = [path for path in files if not excluded(path)]
    named = set(map(absolute, paths))
    tops = named - set(files)
    engine = Engine(
        resolver,
        frozenset(files),
        tops,
        make_checker=make_checker,
        fixes=fixes,
        read=read,
        checkpoint=checkpoint,
        edited=edited,
    )
    return Prepared(troubles, engine, [(path, path in named) for path in files])


def check_text(
    path: Path,
    data: bytes,
    resolver: Resolver,
    *,
    make_checker: MakeChecker | None = None,
    fixes: bool = False,
) -> FileReport:
    """Check `data` as the content of the absolute `path`, which need not exist; `fixes` as in `check_paths`."""
    return Engine(resolver, frozenset({path}), make_checker=make_checker, fixes=fixes).check(path, data, named=True)
