"""The one engine under command line, hooks, tests and editors: paths in, findings out."""

from modellint.linting.engine import Checker, FileReport, check_paths, check_text
from modellint.linting.refining import refine

__all__ = ["Checker", "FileReport", "check_paths", "check_text", "refine"]
