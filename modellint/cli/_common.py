"""The options that every command with findings has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from modellint.cli._plain import selectors
from modellint.report import formats

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Selectors(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click
    """Selectors separated by commas."""

    name = "selectors"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        found = selectors(str(value))
        if not found:
            self.fail("expected at least one rule, such as ML101, ML1, missing-eval, mode or ALL", param, ctx)
        return found


def _selectors(option: str, about: str) -> Callable[[_Function], _Function]:
    return click.option(option, type=_Selectors(), multiple=True, metavar="RULES", help=about)


def shared_options(command: _Function) -> _Function:
    """Add the options that every command with findings has; `overrides` takes them in."""
    for option in reversed(
        (
            _selectors("--select", "Run only these rules: codes, prefixes, names, families or ALL."),
            _selectors("--extend-select", "Run these rules as well."),
            _selectors("--ignore", "Do not run these rules."),
            click.option(
                "--output-format",
                type=click.Choice(formats()),
                default="text",
                show_default=True,
                help="How findings are printed.",
            ),
            click.option(
                "--output-file",
                type=click.Path(dir_okay=False, path_type=Path),
                help="Write findings to this file instead of standard output.",
            ),
            click.option(
                "--fail-on",
                type=click.Choice(["error", "warning"]),
                help="Lowest severity that makes the exit status 1.  [default: warning]",
            ),
            click.option(
                "--min-confidence",
                type=click.Choice(["certain", "likely", "possible"]),
                help="Hide findings below.  [default: likely]",
            ),
            click.option("--exit-zero", is_flag=True, help="Exit with 0 although there are findings."),
            click.option("--isolated", is_flag=True, help="Ignore all configuration files."),
            click.option(
                "--config",
                type=click.Path(path_type=Path),
                help="Use this configuration file for everything.",
            ),
            click.option("--quiet", "-q", is_flag=True, help="Print findings only: no summary, no progress."),
        )
    ):
        command = option(command)
    return command
