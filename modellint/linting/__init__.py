"""The one engine under command line, hooks, tests and editors: paths in, findings out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from modellint.linting.applying import FixedFile, fix_file, fix_paths, fix_text, unified_diff
    from modellint.linting.checkers import Checker
    from modellint.linting.engine import Engine, FileReport
    from modellint.linting.joining import joined
    from modellint.linting.proving import prove
    from modellint.linting.refining import refine
    from modellint.linting.running import check_paths, check_text, prepare

_HOMES = {
    "Checker": "engine",
    "Engine": "engine",
    "FileReport": "engine",
    "FixedFile": "applying",
    "check_paths": "running",
    "check_text": "running",
    "fix_file": "applying",
    "fix_paths": "applying",
    "fix_text": "applying",
    "joined": "joining",
    "prepare": "running",
    "prove": "proving",
    "refine": "refining",
    "unified_diff": "applying",
}
__all__ = [
    "Checker",
    "Engine",
    "FileReport",
    "FixedFile",
    "check_paths",
    "check_text",
    "fix_file",
    "fix_paths",
    "fix_text",
    "joined",
    "prepare",
    "prove",
    "refine",
    "unified_diff",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for: a run over files needs a part of this."""
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
