"""The command line. Each command is a module of this package with a click command of the same name."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

_COMMANDS = ("check", "trace", "lock", "verify", "server", "rule", "framework", "version")
_FAILURE = 2
_INTERRUPTED = 130  # 128 + SIGINT, what a shell expects


class _Group(click.Group):
    """Imports a command's module when the command is called, and not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"{__name__}.{cmd_name}"), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # click would print an empty line
            raise click.exceptions.Exit(_INTERRUPTED) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            from modellint.catalog.document import suggestion

            raise click.UsageError(f"no command {args[0]!r}{suggestion(args[0], _COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(None, "--version", "-V", package_name="modellint", message="modellint %(version)s")
def app() -> None:
    """Prove that a PyTorch model's inference is what its author thinks it is."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit status."""
    try:
        status = app.main(arguments, prog_name="modellint", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        print(f"modellint: {error.format_message()}", file=sys.stderr)
        status = _FAILURE
    except (click.Abort, KeyboardInterrupt):
        status = _INTERRUPTED
    except BrokenPipeError:
        # the reader has had enough; nothing may be flushed into the closed pipe on the way out
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = _INTERRUPTED
    except OSError as error:  # such as a working directory that is gone
        print(f"modellint: {error}", file=sys.stderr)
        status = _FAILURE
    sys.exit(status if isinstance(status, int) else 0)
