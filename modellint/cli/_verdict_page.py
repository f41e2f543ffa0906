"""`--report`: the verdict as a page or as JSON, by the name of the file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from modellint.catalog import ActiveRule
from modellint.cli._output import write_file
from modellint.diagnostic import Diagnostic
from modellint.runtime import TargetReport

_KINDS = (".html", ".json")


def checked(ctx: click.Context, param: click.Parameter, files: tuple[Path, ...]) -> tuple[Path, ...]:
    """Refuse names that do not say what to write, before anything runs."""
    for file in files:
        if file.suffix.lower() not in _KINDS:
            raise click.BadParameter(f"{str(file)!r} has to end in {' or '.join(_KINDS)}", ctx, param)
        if not file.absolute().parent.is_dir():
            raise click.BadParameter(f"{str(file)!r}: there is no folder {str(file.parent)!r}", ctx, param)
    return files


def write_verdict(
    files: Sequence[Path],
    reports: Sequence[TargetReport],
    diagnostics: Sequence[Diagnostic],
    rules: Mapping[str, ActiveRule],
) -> None:
    """Write every file of `--report`."""
    if not files:
        return
    from modellint.report.verdict import content, page

    document = content(reports, diagnostics, rules)
    for file in files:
        is_page = file.suffix.lower() == ".html"
        write_file(file, page(document) if is_page else json.dumps(document, indent=1, allow_nan=False) + "\n")
