"""`modellint lock`: write down what models are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from modellint.catalog import DocumentError
from modellint.cli._common import shared_options
from modellint.cli._fingerprints import finish, take_all
from modellint.cli._output import complain, fail, overrides, settings_here, write_file
from modellint.cli._running import call_options, configured, given, limit_options
from modellint.runtime.lockfile import LOCKFILE, Locked, read_lockfile, take, written
from modellint.settings import Resolver


@click.command()
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--lockfile", type=click.Path(dir_okay=False, path_type=Path), default=LOCKFILE, show_default=True)
@call_options
@limit_options
@shared_options
@click.pass_context
def lock(ctx: click.Context, /, targets: tuple[str, ...], **options: Any) -> None:
    """Write down what models are: every tensor, the architecture, the outputs for the example inputs.

    TARGET is package.module:name, path/file.py:name, or a file of weights (.pt, .pth, .bin, .ckpt, .safetensors, .pt2,
    .onnx), which is read and not run. Without one, the models of the configuration are locked. Entries of other models
    stay as they are.
    """
    settings = settings_here(Resolver(overrides(**options)))
    requests = given(targets, options) if targets else configured(settings, options)
    if not requests:
        fail("no target: name one (package.module:name or path/file.py:name), or list `models:` in .modellint.yaml")
    lockfile: Path = options["lockfile"]
    entries: dict[str, Locked] = {}
    if lockfile.exists():
        try:
            entries = read_lockfile(lockfile)
        except DocumentError as error:
            fail(error)
    taken = take_all(
        "locking",
        len(requests),
        lambda pool, jobs: take(requests, settings.rules, pool, jobs=jobs),
        quiet=options["quiet"],
    )
    for result in taken:
        if result.fingerprint is not None:
            request = result.request
            entries[result.name] = Locked(
                request.target, replace(result.fingerprint, notes=()), request.inputs, request.mode, request.method
            )
    locked = [result for result in taken if result.fingerprint is not None]
    if locked:
        write_file(lockfile, written(entries))
    if not options["quiet"]:
        for result in locked:
            found = result.fingerprint
            assert found is not None
            counts = ((len(found.tensors), "tensor"), (len(found.outputs), "output"))
            what = " and ".join(f"{count} {noun}{'s' * (count != 1)}" for count, noun in counts if count)
            complain(f"locked {result.name} in {lockfile}: {what or 'no tensors'}")
    finish(ctx, taken, [result.name for result in locked], settings, options, quiet_when_clean=True)
