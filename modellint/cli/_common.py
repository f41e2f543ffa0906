"""What `check` and `trace` share: options, output, exit status."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, TextIO, TypeVar

import click

from modellint.catalog import DocumentError
from modellint.diagnostic import Confidence, Diagnostic, Severity
from modellint.report import Report, formats, render
from modellint.settings import Overrides, Resolver, Settings, SettingsError

CLEAN, FINDINGS, FAILURE = 0, 1, 2
_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Selectors(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click
    """Selectors separated by commas."""

    name = "selectors"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        selectors = tuple(part.strip() for part in str(value).split(",") if part.strip())
        if not selectors:
            self.fail("expected at least one rule, such as ML101, ML1, missing-eval, mode or ALL", param, ctx)
        return selectors


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


def overrides(
    *,
    select: Iterable[tuple[str, ...]],
    extend_select: Iterable[tuple[str, ...]],
    ignore: Iterable[tuple[str, ...]],
    min_confidence: str | None,
    fail_on: str | None,
    isolated: bool,
    config: Path | None,
    deep: bool = False,
    **_: object,
) -> Overrides:
    """Return what the options of `shared_options` say; other options may stand among the arguments."""
    if isolated and config is not None:
        raise click.UsageError("--isolated and --config exclude each other")
    selected = tuple(selector for group in select for selector in group)
    return Overrides(
        select=selected or None,
        extend_select=tuple(selector for group in extend_select for selector in group),
        ignore=tuple(selector for group in ignore for selector in group),
        min_confidence=Confidence(min_confidence) if min_confidence else None,
        fail_on=Severity(fail_on) if fail_on else None,
        deep=deep,
        isolated=isolated,
        config=config.absolute() if config else None,
    )


def settings_here(resolver: Resolver) -> Settings:
    """Return the settings of the working directory; leave with exit status 2 where they are broken."""
    try:
        return resolver.for_folder(Path.cwd())
    except (DocumentError, SettingsError) as error:
        fail(error)


def fail(error: Exception | str) -> NoReturn:
    """Say on standard error, line by line, why modellint cannot work, and leave with exit status 2."""
    for line in str(error).splitlines():
        complain(line)
    raise click.exceptions.Exit(FAILURE)


def complain(message: str) -> None:
    """Print one line on standard error."""
    print(f"modellint: {message}", file=sys.stderr)


def wants_color(stream: Any) -> bool:
    """Tell whether to colour: on a terminal, with NO_COLOR and FORCE_COLOR respected."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"


def write(report: Report, name: str, file: Path | None, *, quiet: bool = False, stream: TextIO | None = None) -> None:
    """Print `report` in the format `name` on `stream` (default: standard output), or write it to `file` in one step."""
    stream = stream or sys.stdout
    if file is None:
        report.color = name == "text" and wants_color(stream)
    report.quiet = quiet
    pieces = render(name, report)
    if file is None:
        # paths and code need not be encodable on every terminal
        with suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        for piece in pieces:
            stream.write(piece)
        return
    write_file(file, "".join(pieces))


def write_file(file: Path, text: str) -> None:
    """Write `text` to `file`, which holds either its old content or all of the new one."""
    mask = os.umask(0)
    os.umask(mask)
    try:
        replace_file(file.absolute(), text.encode("utf-8", "backslashreplace"), 0o666 & ~mask)
    except OSError as error:
        fail(f"{file}: cannot be written: {error.strerror or error}")


def replace_file(file: Path, data: bytes, mode: int) -> None:
    """Make `data` the content of `file` in one step, and `mode` its permissions; raise `OSError` where that fails."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    fresh = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        fresh.chmod(mode)
        fresh.replace(file)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def exit_status(diagnostics: Iterable[tuple[Diagnostic, Severity]], *, failed: bool, exit_zero: bool) -> int:
    """Return the exit status for findings, each with the `fail-on` that counts for it."""
    if failed:
        return FAILURE
    counts = any(
        diagnostic.severity.rank >= floor.rank and diagnostic.severity is not Severity.INFO
        for diagnostic, floor in diagnostics
    )
    return FINDINGS if counts and not exit_zero else CLEAN
