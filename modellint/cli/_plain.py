"""The command lines that are understood without click: `check`, paths and options without a catch.

Everything else, mistakes and calls for help included, is left to click, which has the last word on how it is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

DEFAULTS: dict[str, Any] = {
    "select": (),
    "extend_select": (),
    "ignore": (),
    "output_format": "text",
    "output_file": None,
    "fail_on": None,
    "min_confidence": None,
    "exit_zero": False,
    "isolated": False,
    "config": None,
    "quiet": False,
    "no_cache": False,
    "jobs": None,
    "deep": False,
    "force_exclude": False,
    "stdin_filename": None,
    "fix": False,
    "unsafe_fixes": False,
    "diff": False,
    "statistics": False,
    "tracing": False,
}
"""The options of `check` where none is given, by the names that click gives them."""
FLAGS = frozenset({"exit_zero", "isolated", "quiet", "no_cache", "force_exclude", "statistics"})
LISTS = frozenset({"select", "extend_select", "ignore"})
CHOICES = {"fail_on": ("error", "warning"), "min_confidence": ("certain", "likely", "possible")}


def selectors(text: str) -> tuple[str, ...]:
    """Return the rules that an option names, separated by commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def parse(arguments: Sequence[str]) -> tuple[tuple[Path, ...], dict[str, Any]] | None:
    """Return the paths and options of a plain `check`, None where click has to look at the arguments."""
    if not arguments or arguments[0] != "check":
        return None
    paths: list[Path] = []
    options = dict(DEFAULTS)
    rest = iter(arguments[1:])
    for argument in rest:
        if not argument.startswith("-"):
            paths.append(Path(argument))
            continue
        spelled, given, value = argument.partition("=")
        name = "quiet" if spelled == "-q" else spelled[2:].replace("-", "_") if spelled.startswith("--") else ""
        if name in FLAGS and not given:
            options[name] = True
        elif name in LISTS or name in CHOICES or name in ("output_format", "jobs"):
            value = value if given else next(rest, "")
            if (read := _value(name, value)) is None:
                return None
            options[name] = (*options[name], read) if name in LISTS else read
        else:
            return None
    return tuple(paths), options


def _value(name: str, text: str) -> Any:
    """Return the value of an option, None where it is no such value."""
    if name in LISTS:
        return selectors(text) or None
    if name == "output_format":
        from modellint.report import formats

        return text if text in formats() else None
    if name == "jobs":
        return int(text) if text.isascii() and text.isdecimal() and int(text) > 0 else None
    return text if text in CHOICES[name] else None
