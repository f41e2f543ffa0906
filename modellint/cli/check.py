"""`modellint check`: the static pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from modellint.cli._checking import run
from modellint.cli._common import shared_options


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@shared_options
@click.option("--no-cache", is_flag=True, help="Read nothing from the cache and write nothing to it.")
@click.option(
    "--jobs",
    "-j",
    type=click.IntRange(min=1),
    metavar="N",
    help="Check with at most so many processes.  [default: one a processor]",
)
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
@click.option(
    "--trace", "tracing", is_flag=True, help="Also run the models of the configuration, and tell both passes together."
)
@click.pass_context
def check(ctx: click.Context, /, paths: tuple[Path, ...], **options: Any) -> None:
    """Check Python files and notebooks, without running them and without torch (but see --trace).

    PATHS are files or folders; the default is the current folder, `-` is standard input.
    """
    ctx.exit(run(paths, options))
