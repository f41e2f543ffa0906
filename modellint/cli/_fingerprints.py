"""What `lock` and `verify` share: fingerprints of many models at a time, and what is said about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import click

from modellint.cli._output import complain, exit_status, fail, write
from modellint.cli._progress import Progress
from modellint.linting import refine
from modellint.report import Report
from modellint.runtime import Pool, PoolError, default_jobs
from modellint.runtime.lockfile import Taken
from modellint.settings import Settings


def take_all(doing: str, count: int, take: Callable[[Pool, int], list[Taken]], *, quiet: bool) -> list[Taken]:
    """Return what `take` finds for `count` models with a pool and a number of jobs, and say what went wrong."""
    with Progress(doing, enabled=not quiet) as progress, Pool() as pool:
        progress.show(0, count)
        try:
            taken = take(pool, default_jobs(count))
        except PoolError as error:
            fail(error)
    for result in taken:
        for line in () if quiet else result.notes:
            complain(line)
        if result.problem is not None:
            complain(result.problem)
    return taken


def finish(
    ctx: click.Context,
    taken: Sequence[Taken],
    checked: list[str],
    settings: Settings,
    options: dict[str, Any],
    *,
    quiet_when_clean: bool = False,
) -> NoReturn:
    """Write the findings and leave; with `quiet_when_clean` the text format says nothing where there are none."""
    diagnostics = refine((diagnostic for result in taken for diagnostic in result.diagnostics), settings)
    if diagnostics or options["output_format"] != "text" or not quiet_when_clean:
        shown = Report(diagnostics=diagnostics, checked=checked, unit="model")
        write(shown, options["output_format"], options["output_file"], quiet=options["quiet"])
    ctx.exit(
        exit_status(
            ((diagnostic, settings.fail_on) for diagnostic in diagnostics),
            failed=any(result.problem is not None for result in taken),
            exit_zero=options["exit_zero"],
        )
    )
