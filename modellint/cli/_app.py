"""The commands: each is a module of this package with a click command of the same name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from modellint.cli._output import Failure

COMMANDS = ("check", "trace", "lock", "verify", "server", "rule", "framework", "version")
INTERRUPTED = 130  # 128 + SIGINT, what a shell expects


class _Group(click.Group):
    """Imports a command's module when the command is called, and not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"modellint.cli.{cmd_name}"), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # click would print an empty line
            raise click.exceptions.Exit(INTERRUPTED) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from modellint.catalog.document import suggestion

            raise click.UsageError(f"no command {args[0]!r}{suggestion(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(None, "--version", "-V", package_name="modellint", message="modellint %(version)s")
def app() -> None:
    """Prove that a PyTorch model's inference is what its author thinks it is."""


def run_app(arguments: Sequence[str]) -> int:
    """Run the command that `arguments` name and return its exit status; raise `Failure` where they are wrong."""
    try:
        status = app.main(list(arguments), prog_name="modellint", standalone_mode=False)
    except click.ClickException as error:
        raise Failure(error.format_message()) from None
    except click.Abort:
        return INTERRUPTED
    return status if isinstance(status, int) else 0
