"""`modellint version`."""

from __future__ import annotations

import platform

import click

from modellint import __version__


@click.command()
def version() -> None:
    """Print the version of modellint and of the Python that runs it."""
    click.echo(f"modellint {__version__} (Python {platform.python_version()})")
