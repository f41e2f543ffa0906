"""`modellint trace`: the runtime pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from modellint.cli._common import complain, exit_status, fail, overrides, settings_here, shared_options, write
from modellint.cli._progress import Progress
from modellint.diagnostic import Diagnostic
from modellint.linting import refine
from modellint.report import Report
from modellint.runtime import DETECTORS, PoolError, Request, TargetReport, default_jobs, trace_targets
from modellint.runtime.probes.names import DEFAULT, PROBES, ProbeNameError, parse_probes
from modellint.runtime.tracing import TIMEOUT
from modellint.settings import Resolver, Settings


@click.command()
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="SPEC",
    help="An example input, such as float32[2,3,224,224], ids=int64[2,16]:0..30522, inputs.pt or steps=20.",
)
@click.option(
    "--mode",
    type=click.Choice(["as-is", "eval", "train"]),
    help="The mode to put the model into first.  [default: as-is]",
)
@click.option("--method", metavar="NAME", help="The method to run instead of forward.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help=f"When a model counts as hung.  [default: {TIMEOUT:g}]",
)
@click.option(
    "--memory",
    type=click.IntRange(min=1),
    metavar="MB",
    help="How much memory a model may take.  [default: four fifths of what is free]",
)
@click.option("--network/--no-network", default=False, show_default=True, help="Whether a model may use the network.")
@click.option(
    "--probe",
    metavar="NAME,...|default|all",
    help=f"Experiments to run on each model: {', '.join(PROBES)}.",
)
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="How long the probes of one model may take; those that find no time are skipped.",
)
@click.option("--jobs", "-j", type=click.IntRange(min=1), metavar="N", help="How many models to trace at a time.")
@shared_options
@click.pass_context
def trace(ctx: click.Context, /, targets: tuple[str, ...], **options: Any) -> None:
    """Run models in child processes and inspect what they really do.

    TARGET is package.module:name or path/file.py:name, where name is a model, a class or a factory. Without one,
    the models of the configuration are traced.
    """
    try:
        probes = parse_probes(options["probe"]) if options["probe"] is not None else ()
    except ProbeNameError as error:
        fail(error)
    settings = settings_here(Resolver(overrides(**options)))
    requests = _given(targets, options) if targets else _configured(settings, options)
    requests = [
        replace(request, probes=probes, budget=options["budget"], quick=options["probe"] == DEFAULT)
        for request in requests
    ]
    if not requests:
        fail("no target: name one (package.module:name or path/file.py:name), or list `models:` in .modellint.yaml")
    reports = _run(requests, settings, options)
    for report in reports:
        for note in report.notes:
            if not options["quiet"]:
                complain(note)
        if report.problem is not None:
            complain(report.problem)
    judged = {active.rule.code for active in settings.rules.values() if active.rule.detector in DETECTORS}
    diagnostics = refine(_once(reports), settings, _rows_that_ran(reports, judged), judged)
    shown = Report(
        diagnostics=diagnostics,
        checked=[report.request.name or report.request.target for report in reports if not report.problem],
        unit="model",
    )
    write(shown, options["output_format"], options["output_file"], quiet=options["quiet"])
    ctx.exit(
        exit_status(
            ((diagnostic, settings.fail_on) for diagnostic in diagnostics),
            failed=any(report.problem is not None for report in reports),
            exit_zero=options["exit_zero"],
        )
    )


def _given(targets: Iterable[str], options: dict[str, Any]) -> list[Request]:
    return [
        Request(
            target,
            options["inputs"],
            options["mode"] or "as-is",
            options["method"],
            options["timeout"] or TIMEOUT,
            options["memory"],
            options["network"],
            Path.cwd(),
        )
        for target in targets
    ]


def _configured(settings: Settings, options: dict[str, Any]) -> list[Request]:
    """Return the models of the configuration; what the command line says counts for all of them."""
    return [
        Request(
            model.target,
            options["inputs"] or model.inputs,
            options["mode"] or model.mode,
            options["method"] or model.method,
            options["timeout"] or model.timeout or TIMEOUT,
            options["memory"],
            options["network"],
            model.base,
            model.name,
            model.rules,
        )
        for model in settings.models
    ]


def _run(requests: list[Request], settings: Settings, options: dict[str, Any]) -> list[TargetReport]:
    reports: list[TargetReport] = []
    jobs = options["jobs"] or default_jobs(len(requests))
    with Progress("tracing", enabled=not options["quiet"]) as progress:
        progress.show(0, len(requests))
        try:
            for report in trace_targets(requests, settings.rules, jobs=jobs):
                reports.append(report)
                progress.show(len(reports), len(requests))
        except PoolError as error:
            fail(error)
    return reports


def _rows_that_ran(reports: Iterable[TargetReport], judged: set[str]) -> dict[str, set[int]]:
    """Return the rows that were observed, by file, of models that all the rules `judged` were run on."""
    rows: dict[str, set[int]] = {}
    for report in reports:
        if report.request.rules is None or judged <= report.request.rules.keys():
            for name, found in report.rows_that_ran().items():
                rows.setdefault(name, set()).update(found)
    return rows


def _once(reports: Iterable[TargetReport]) -> Iterator[Diagnostic]:
    """Yield every finding, but what several models share only once."""
    told = set()
    for report in reports:
        for diagnostic in report.diagnostics:
            key = (diagnostic.code, diagnostic.filename, diagnostic.span, diagnostic.message)
            if key not in told:
                told.add(key)
                yield diagnostic
