"""`modellint trace`: the runtime pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from modellint.cli._common import shared_options
from modellint.cli._output import complain, exit_status, fail, overrides, settings_here, write, write_file
from modellint.cli._repro import emit
from modellint.cli._running import call_options, configured, given, limit_options
from modellint.cli._tracing import INTERRUPTED, Traced, trace_all
from modellint.cli._verdict_page import checked, write_verdict
from modellint.report import Report
from modellint.runtime.probes.names import DEFAULT, PROBES, ProbeNameError, parse_probes
from modellint.settings import Resolver


@click.command()
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@call_options
@limit_options
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
@click.option(
    "--emit-repro",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write a script for every failed probe that shows the defect with torch alone.",
)
@click.option(
    "--report",
    "verdict_files",
    type=click.Path(dir_okay=False, path_type=Path),
    multiple=True,
    callback=checked,
    metavar="FILE",
    help="Write the verdict to FILE: .html makes a page for people, .json the same for programs.",
)
@click.option(
    "--graph",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Draw the modules of each model with modes and findings: FILE.html folds and searches, or FILE.svg.",
)
@click.option("--jobs", "-j", type=click.IntRange(min=1), metavar="N", help="How many models to trace at a time.")
@shared_options
@click.pass_context
def trace(ctx: click.Context, /, targets: tuple[str, ...], **options: Any) -> None:
    """Run models in child processes and inspect what they really do.

    TARGET is package.module:name or path/file.py:name, where name is a model, a class or a factory, or a file that
    holds a model or weights (.pt2, .onnx, TorchScript .pt, .safetensors), which is read and not run. Without one,
    the models of the configuration are traced.
    """
    try:
        probes = parse_probes(options["probe"]) if options["probe"] is not None else ()
    except ProbeNameError as error:
        fail(error)
    if options["graph"] is not None and options["graph"].suffix not in (".html", ".svg"):
        fail(f"--graph: {options['graph']}: the name ends in neither .html nor .svg")
    resolver = Resolver(overrides(**options))
    settings = settings_here(resolver)
    requests = given(targets, options) if targets else configured(settings, options)
    requests = [
        replace(request, probes=probes, budget=options["budget"], quick=options["probe"] == DEFAULT)
        for request in requests
    ]
    if not requests:
        fail("no target: name one (package.module:name or path/file.py:name), or list `models:` in .modellint.yaml")
    root = resolver.project_root(Path.cwd())
    traced = trace_all(requests, settings, root, jobs=options["jobs"], quiet=options["quiet"])
    reports = traced.reports
    if options["emit_repro"] is not None:
        try:
            for line in (line for report in reports for line in emit(report, options["emit_repro"])):
                complain(line)
        except OSError as error:
            fail(f"--emit-repro: {error.filename}: {error.strerror}")
    diagnostics = traced.diagnostics
    if options["graph"] is not None:
        _draw(options["graph"], traced)
    shown = Report(
        diagnostics=diagnostics,
        checked=[report.request.name or report.request.target for report in reports if not report.problem],
        unit="model",
    )
    write(shown, options["output_format"], options["output_file"], quiet=options["quiet"])
    write_verdict(options["verdict_files"], reports, diagnostics, settings.rules)
    if traced.interrupted:
        ctx.exit(INTERRUPTED)
    ctx.exit(
        exit_status(
            ((diagnostic, settings.fail_on) for diagnostic in diagnostics),
            failed=traced.failed,
            exit_zero=options["exit_zero"],
        )
    )


def _draw(file: Path, traced: Traced) -> None:
    from modellint.report import _picture

    models = [
        (report.trace, [found for found in traced.diagnostics if found.runtime and found.runtime.target == target])
        for report in traced.reports
        if report.trace is not None and (target := report.trace.target)
    ]
    write_file(file, _picture.svg(models) if file.suffix == ".svg" else _picture.html(models))
