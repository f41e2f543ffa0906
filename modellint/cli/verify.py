"""`modellint verify`: are the models still what the lockfile says?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from modellint.catalog import DocumentError
from modellint.catalog.document import suggestion
from modellint.cli._common import shared_options
from modellint.cli._fingerprints import finish, take_all
from modellint.cli._output import fail, overrides, settings_here
from modellint.cli._running import limit_options
from modellint.runtime import Request
from modellint.runtime.lockfile import LOCKFILE, Locked, read_lockfile
from modellint.runtime.lockfile import verify as compare
from modellint.runtime.tracing import TIMEOUT
from modellint.settings import Resolver, Settings


@click.command()
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--lockfile", type=click.Path(dir_okay=False, path_type=Path), default=LOCKFILE, show_default=True)
@limit_options
@shared_options
@click.pass_context
def verify(ctx: click.Context, /, targets: tuple[str, ...], **options: Any) -> None:
    """Check that models are what the lockfile says: bits of every tensor, architecture, outputs.

    Without a TARGET everything in the lockfile is checked. Run it in the folder in which `modellint lock` was run.
    """
    settings = settings_here(Resolver(overrides(**options)))
    lockfile: Path = options["lockfile"]
    if not lockfile.exists():
        fail(f"{lockfile}: there is no such file; `modellint lock TARGET` writes it")
    try:
        locked = read_lockfile(lockfile)
    except DocumentError as error:
        fail(error)
    names = targets or tuple(locked)
    if unknown := [name for name in names if name not in locked]:
        fail(f"{lockfile}: has no model {unknown[0]!r}{suggestion(unknown[0], locked)}; `modellint lock` adds it")
    if not names:
        fail(f"{lockfile}: holds no models; `modellint lock TARGET` adds them")
    requests = [_request(name, locked[name], settings, options) for name in names]
    taken = take_all(
        "verifying",
        len(requests),
        lambda pool, jobs: compare(locked, requests, settings.rules, pool, lockfile.absolute(), jobs=jobs),
        quiet=options["quiet"],
    )
    finish(ctx, taken, [result.name for result in taken if not result.problem], settings, options)


def _request(name: str, entry: Locked, settings: Settings, options: dict[str, Any]) -> Request:
    """Return the request that an entry stands for; a model of the configuration counts from its folder."""
    model = next((model for model in settings.models if model.name == name), None)
    return Request(
        entry.target,
        entry.inputs,
        entry.mode,
        entry.method,
        options["timeout"] or TIMEOUT,
        options["memory"],
        options["network"],
        model.base if model is not None else Path.cwd(),
        name,
    )
