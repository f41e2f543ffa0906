"""What `check` does with fixed files: write them, show the difference, sum up."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from modellint.cli._output import CLEAN, FAILURE, FINDINGS, complain
from modellint.files import replace_file
from modellint.linting import FixedFile, unified_diff
from modellint.sources import shown


def overwrite(path: Path, before: bytes, after: bytes) -> str | None:
    """Replace the content of `path` in one step unless it is no longer `before`; return what went wrong.

    Permissions stay, and so does a symbolic link: the file that it leads to gets the new content.
    """
    try:
        file = path.resolve()
        if file.read_bytes() != before:
            return f"{shown(path)}: changed while it was checked; its fixes were not written"
        if not os.access(file, os.W_OK):
            return f"{shown(path)}: cannot be written: write-protected"
        replace_file(file, after, stat.S_IMODE(file.stat().st_mode))
    except OSError as error:
        return f"{shown(path)}: cannot be written: {error.strerror or error}"
    return None


def show_diff(files: Iterable[FixedFile], *, failed: bool, exit_zero: bool, unsafe: bool) -> int:
    """Print what fixing would change as a unified diff; return the exit status: 1 where there is a change."""
    files = list(files)
    for file in files:
        if file.changed:
            sys.stdout.writelines(unified_diff(file))
    number = sum(file.fixed for file in files)
    more = "" if unsafe else _more(files)
    complain(f"would fix {_count(number)} in {_count(sum(file.changed for file in files), 'file')}{more}")
    if failed:
        return FAILURE
    return FINDINGS if number and not exit_zero else CLEAN


def say_what_was_fixed(files: Iterable[FixedFile], stream: TextIO, *, unsafe: bool) -> None:
    """Print one line that sums up what was applied, and what could be."""
    files = list(files)
    more = "" if unsafe else _more(files)
    number = sum(file.fixed for file in files)
    where = f" in {_count(sum(file.changed for file in files), 'file')}" if number else ""
    if number or more:
        stream.write(f"Fixed {_count(number)}{where}{more}.\n")


def _more(files: Iterable[FixedFile]) -> str:
    offered = sum(file.offered for file in files)
    return f"; {offered:,} more with --unsafe-fixes" if offered else ""


def _count(number: int, noun: str = "finding") -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
