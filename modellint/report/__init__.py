"""Output formats: each module here without a leading underscore is one, and its `render(report)` yields text.

The package `verdict` is none: it shows what a trace proved, findings or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from modellint.report._model import Report, code_units

__all__ = ["Report", "code_units", "formats", "render", "shows_fixes"]


@cache
def formats() -> tuple[str, ...]:
    """Return the names of the output formats: `text` first, the others in alphabetical order."""
    modules = (module for module in iter_modules(__path__) if not module.ispkg)
    names = [module.name for module in modules if not module.name.startswith("_")]
    return tuple(sorted(names, key=lambda name: (name != "text", name)))


def render(name: str, report: Report) -> Iterator[str]:
    """Yield `report` in the format `name`, piece by piece."""
    function: Callable[[Report], Iterator[str]] = import_module(f"{__name__}.{name}").render
    return function(report)


def shows_fixes(name: str) -> bool:
    """Tell whether the format `name` carries the edits of fixes, which take time to work out."""
    return bool(getattr(import_module(f"{__name__}.{name}"), "FIXES", False))
