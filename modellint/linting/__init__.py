"""The one engine under command line, hooks, tests and editors: paths in, findings out."""

from modellint.linting.applying import FixedFile, fix_paths, fix_text, unified_diff
from modellint.linting.engine import Checker, Engine, FileReport, check_paths, check_text, prepare
from modellint.linting.proving import prove
from modellint.linting.refining import refine

__all__ = [
    "Checker",
    "Engine",
    "FileReport",
    "FixedFile",
    "check_paths",
    "check_text",
    "fix_paths",
    "fix_text",
    "prepare",
    "prove",
    "refine",
    "unified_diff",
]
