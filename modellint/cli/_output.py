"""What becomes of findings on the command line: printed, written, an exit status. Nothing here needs click."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, TextIO

from modellint.catalog import DocumentError
from modellint.diagnostic import Confidence, Diagnostic, Severity
from modellint.files import replace_file
from modellint.report import Report, render
from modellint.settings import Overrides, Resolver, Settings, SettingsError

CLEAN, FINDINGS, FAILURE = 0, 1, 2


class Failure(Exception):
    """Modellint cannot work; the message says why, line by line. The exit status is 2."""


def fail(error: Exception | str) -> NoReturn:
    """Give up and say why."""
    raise Failure(str(error)) from None


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
        raise Failure("--isolated and --config exclude each other")
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


def exit_status(diagnostics: Iterable[tuple[Diagnostic, Severity]], *, failed: bool, exit_zero: bool) -> int:
    """Return the exit status for findings, each with the `fail-on` that counts for it."""
    if failed:
        return FAILURE
    counts = any(
        diagnostic.severity.rank >= floor.rank and diagnostic.severity is not Severity.INFO
        for diagnostic, floor in diagnostics
    )
    return FINDINGS if counts and not exit_zero else CLEAN
