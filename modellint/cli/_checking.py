"""A run of `modellint check`, once its options are known: no click, and nothing that only fixes need."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from modellint.catalog import DocumentError
from modellint.cli._output import Failure, complain, exit_status, fail, overrides, settings_here, write, write_file
from modellint.cli._progress import Progress
from modellint.diagnostic import Diagnostic
from modellint.linting.engine import FileReport
from modellint.linting.running import check_paths, check_text, processors
from modellint.report import Report, shows_fixes
from modellint.settings import Resolver, SettingsError
from modellint.sources import absolute

if TYPE_CHECKING:
    from modellint.cli._second import SecondPass
    from modellint.linting import FixedFile


def run(paths: tuple[Path, ...], options: dict[str, Any]) -> int:
    """Check `paths` and print what was found; `options` are those of the command. Return the exit status."""
    resolver = Resolver(overrides(**options))
    from_stdin = Path("-") in paths
    if from_stdin and len(paths) > 1:
        raise Failure("`-` stands alone")
    if options["stdin_filename"] is not None and not from_stdin:
        raise Failure("--stdin-filename goes with `-` as the path")
    repairing = options["fix"] or options["diff"]
    if options["tracing"] and (from_stdin or options["diff"]):
        raise Failure("--trace goes neither with `-` nor with --diff")
    second = _begin_tracing(resolver, options) if options["tracing"] else None
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
                        cache=not options["no_cache"],
                        jobs=options["jobs"] or processors(),
                    )
                )
    except (DocumentError, SettingsError) as error:
        fail(error)
    _say_what_went_wrong(reports)
    failed = any(report.errors for report in reports)
    if options["diff"]:
        from modellint.cli._fixes import show_diff

        return show_diff(files, failed=failed, exit_zero=options["exit_zero"], unsafe=options["unsafe_fixes"])

    text_follows = repairing and from_stdin
    diagnostics = sorted((d for report in reports for d in report.diagnostics), key=lambda d: d.sort_key)
    floors = list(_with_floors(reports, resolver))
    if second is not None:
        from modellint.linting import joined

        traced = second.finish()
        failed = failed or traced.failed or traced.interrupted
        floors += ((diagnostic, second.settings.fail_on) for diagnostic in traced.diagnostics)
        diagnostics = joined(diagnostics, traced.diagnostics)
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
        from modellint.cli._fixes import say_what_was_fixed

        plain = options["output_format"] == "text" and options["output_file"] is None and not options["statistics"]
        say_what_was_fixed(files, stream if plain else sys.stderr, unsafe=options["unsafe_fixes"])
    if text_follows:
        sys.stdout.buffer.write(files[0].after)
    return exit_status(floors, failed=failed, exit_zero=options["exit_zero"])


def _begin_tracing(resolver: Resolver, options: dict[str, Any]) -> SecondPass:
    """Start the runtime pass; what it needs is imported here alone, so that `check` without it stays light."""
    from modellint.cli._second import SecondPass

    return SecondPass(settings_here(resolver), resolver.project_root(Path.cwd()), quiet=options["quiet"])


def _repair(
    paths: tuple[Path, ...],
    resolver: Resolver,
    from_stdin: bool,
    progress: Callable[[int, int], None],
    options: dict[str, Any],
) -> list[FixedFile]:
    from modellint.cli._fixes import overwrite
    from modellint.linting import fix_paths, fix_text

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
        cache=not options["no_cache"],
        jobs=options["jobs"] or processors(),
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
