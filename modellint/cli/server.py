"""`modellint server`: the language server."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

import click

from modellint.cli._output import fail
from modellint.settings import Overrides


@click.command()
@click.option("--tcp", type=click.IntRange(0, 65535), metavar="PORT", help="Listen on this port of 127.0.0.1 instead.")
@click.option("--isolated", is_flag=True, help="Ignore all configuration files.")
@click.option("--config", type=click.Path(path_type=Path), help="Use this configuration file for everything.")
@click.option("--verbose", is_flag=True, help="Log every message on standard error.")
def server(tcp: int | None, isolated: bool, config: Path | None, verbose: bool) -> None:
    """Speak the language server protocol on standard input and output.

    Editors start this; what they can set, and how, is in docs/editors.md.
    """
    if isolated and config is not None:
        raise click.UsageError("--isolated and --config exclude each other")
    try:
        from modellint.server.application import make_server
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        fail("the language server needs pygls: pip install 'modellint[server]'")
    logging.basicConfig(level=logging.DEBUG if verbose else logging.ERROR, stream=sys.stderr)
    made = make_server(Overrides(isolated=isolated, config=config.absolute() if config else None))
    if tcp is not None:
        made.start_tcp("127.0.0.1", tcp)
        return
    # the protocol has standard output for itself: whatever else prints goes to standard error
    stdout = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    made.start_io(stdout=stdout)
