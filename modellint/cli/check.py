"""`modellint check`: the static pass."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

import click

from modellint.catalog import DocumentError
from modellint.cli._common import (
    complain,
    exit_status,
    fail,
    overrides,
    shared_options,
    write,
    write_file,
)
from modellint.cli._fixes import overwrite, say_what_was_fixed, show_diff
from modellint.cli._progress import Progress
from modellint.diagnostic import Diagnostic
from modellint.linting import FileReport, FixedFile, check_paths, check_text, fix_paths, fix_text
from modellint.report import Report, shows_fixes
from modellint.settings import Resolver, SettingsError
from modellint.sources import absolute


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@shared_options
@click.option("--no-cache", is_flag=True, help="Read nothing from the cache and write nothing to it.")
@click.option("--deep", is_flag=True, help="Also follow base classes and factories into installed packages; slower.")
@click.option("--force-exclude", is_flag=True, help="Leave out excluded files even when they are named.")
@click.option(
    "--stdin-filename",
    type=click.Path(path_type=Path),
    help="The name of the file whose content comes on standard input (with `-` as the path).",
)
@click.option("--fix", is_flag=True, help="Repair what has a safe fix, in place; print what is left.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: also apply fixes that change behaviour.")
@click.option("--diff", is_flag=True, help="Show what --fix would do, and change nothing.")
@click.option("--statistics", is_flag=True, help="Print how often each rule fired instead of the findings.")
@click.pass_context
def check(ctx: click.Context, /, paths: tuple[Path, ...], **options: Any) -> None:
    """Check Python files and notebooks, without running them and without torch.

    PATHS are files or folders; the default is the current folder, `-` is standard input.
    """
    resolver = Resolver(overrides(**options))
    from_stdin = Path("-") in paths
    if from_stdin and len(paths) > 1:
        raise click.UsageError("`-` stands alone")
    if options["stdin_filename"] is not None and not from_stdin:
        raise click.UsageError("--stdin-filename goes with `-` as the path")
    repairing = options["fix"] or options["diff"]
    try:
        with Progress("checking", enabled=not (options["quiet"] or from_stdin)) as progress:
            if repairing:
                files = _repair(paths, resolver, from_stdin, progress.show, options)
                reports = [file.report for file in files]
            elif from_stdin:
                path, data = _stdin(options["stdin_filename"])
                reports = [check_text(path, data, resolver, fixes=shows_fixes(options["output_format"]))]
            else:
                reports = list(
                    check_paths(
                        paths or (Path(),),
                        resolver,
                        force_exclude=options["force_exclude"],
                        progress=progress.show,
                        fixes=shows_fixes(options["output_format"]),
                    )
                )
    except (DocumentError, SettingsError) as error:
        fail(error)
    _say_what_went_wrong(reports)
    failed = any(report.errors for report in reports)
    if options["diff"]:
        ctx.exit(show_diff(files, failed=failed, exit_zero=options["exit_zero"], unsafe=options["unsafe_fixes"]))

    text_follows = repairing and from_stdin
    diagnostics = sorted((d for report in reports for d in report.diagnostics), key=lambda d: d.sort_key)
    stream = sys.stderr if text_follows else sys.stdout
    if options["statistics"]:
        _write_statistics(diagnostics, options["output_format"], options["output_file"], stream)
    else:
        shown = Report(
            diagnostics=diagnostics,
            checked=[str(report.path) for report in reports if not report.errors and not report.notes],
            sources={str(report.path): report.source for report in reports if report.source is not None},
        )
        write(shown, options["output_format"], options["output_file"], quiet=options["quiet"], stream=stream)
    if repairing and not options["quiet"]:
        plain = options["output_format"] == "text" and options["output_file"] is None and not options["statistics"]
        say_what_was_fixed(files, stream if plain else sys.stderr, unsafe=options["unsafe_fixes"])
    if text_follows:
        sys.stdout.buffer.write(files[0].after)
    ctx.exit(exit_status(_with_floors(reports, resolver), failed=failed, exit_zero=options["exit_zero"]))


def _repair(
    paths: tuple[Path, ...],
    resolver: Resolver,
    from_stdin: bool,
    progress: Callable[[int, int], None],
    options: dict[str, Any],
) -> list[FixedFile]:
    unsafe = options["unsafe_fixes"]
    if from_stdin:
        path, data = _stdin(options["stdin_filename"])
        return [fix_text(path, data, resolver, unsafe=unsafe)]
    return fix_paths(
        paths or (Path(),),
        resolver,
        None if options["diff"] else overwrite,
        unsafe=unsafe,
        force_exclude=options["force_exclude"],
        progress=progress,
    )


def _stdin(name: Path | None) -> tuple[Path, bytes]:
    return absolute(name or Path("stdin.py")), sys.stdin.buffer.read()


def _with_floors(reports: Iterable[FileReport], resolver: Resolver) -> Iterator[tuple[Diagnostic, Any]]:
    for report in reports:
        for diagnostic in report.diagnostics:
            yield diagnostic, resolver.for_folder(report.path.parent).fail_on


def _say_what_went_wrong(reports: list[FileReport]) -> None:
    for report in reports:
        for message in (*report.errors, *report.notes):
            complain(message)
    if not reports:
        complain("no Python files or notebooks found")


def _write_statistics(diagnostics: list[Diagnostic], name: str, file: Path | None, stream: TextIO) -> None:
    counts = Counter((diagnostic.code, diagnostic.name) for diagnostic in diagnostics)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if name == "json":
        text = json.dumps([{"code": c, "name": n, "count": number} for (c, n), number in ranked], indent=2) + "\n"
    else:
        width = len(str(max(counts.values(), default=0)))
        text = "".join(f"{number:>{width}}  {code}  {rule}\n" for (code, rule), number in ranked)
    if file is not None:
        write_file(file, text)
    else:
        stream.write(text)
