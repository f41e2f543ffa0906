"""What `trace` and `check --trace` do with models: run them, say what went wrong, refine what was found."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from modellint.cli._output import complain, fail
from modellint.cli._progress import Progress
from modellint.cli._verdicts import verdicts
from modellint.diagnostic import Diagnostic
from modellint.linting.kept import keep, take
from modellint.linting.tracing import concluded
from modellint.runtime import Pool, PoolError, Request, TargetReport, default_jobs, trace_targets
from modellint.runtime.artefacts.comparing import differences
from modellint.runtime.target import ARTEFACTS
from modellint.settings import Settings

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


@dataclass(frozen=True, slots=True)
class Traced:
    """What came of all requests; `interrupted`: Ctrl-C ended the work before all of it was done."""

    reports: list[TargetReport]
    diagnostics: list[Diagnostic]
    interrupted: bool

    @property
    def failed(self) -> bool:
        """Tell whether a model could not be traced."""
        return any(report.problem is not None for report in self.reports)


def trace_all(
    requests: Sequence[Request],
    settings: Settings,
    root: Path,
    *,
    jobs: int | None,
    quiet: bool,
    pool: Pool | None = None,
) -> Traced:
    """Trace the models of `requests`, `jobs` at a time, and say on standard error what there is to say about them.

    What was found is kept in the cache of the project at `root`, unless the work was interrupted.
    """
    started = time.time_ns()
    reports, interrupted = _run(requests, settings, jobs, quiet, pool)
    for report in reports:
        if not quiet:
            for line in verdicts(report):
                click.echo(line, err=True)
            for note in (*report.notes, *_beside(report, reports)):
                complain(note)
        if report.problem is not None:
            complain(report.problem)
    found = concluded(reports, settings)
    if not interrupted:
        keep(root, take(found, started))
    return Traced(reports, found, interrupted)


def _beside(report: TargetReport, reports: Sequence[TargetReport]) -> Iterator[str]:
    """Yield how a file differs from the models that were traced in the same command."""
    if report.trace is not None and _is_file(report.request):
        models = [other.trace for other in reports if other.trace is not None and not _is_file(other.request)]
        yield from differences(report.trace, models)


def _is_file(request: Request) -> bool:
    return request.target.endswith(ARTEFACTS)


def _run(
    requests: Sequence[Request], settings: Settings, jobs: int | None, quiet: bool, pool: Pool | None
) -> tuple[list[TargetReport], bool]:
    """Return the reports, and whether Ctrl-C ended the work before all of it was done."""
    reports: list[TargetReport] = []
    jobs = jobs or default_jobs(len(requests))
    with Progress("tracing", enabled=not quiet) as progress:

        def listen(part: Mapping[str, Any]) -> None:
            if "probe" in part:
                progress.show(len(reports), len(requests), f"probe {part['probe']}")

        progress.show(0, len(requests))
        try:
            for report in trace_targets(requests, settings.rules, jobs=jobs, pool=pool, listener=listen):
                reports.append(report)
                progress.show(len(reports), len(requests))
        except PoolError as error:
            fail(error)
        except KeyboardInterrupt:
            return reports, True
    return reports, False
