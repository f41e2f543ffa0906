"""What no linter in Python gets below: reading the files, and parsing them."""

from __future__ import annotations

import gc
import warnings
from pathlib import Path

from modellint.catalog import load_frameworks, load_rules
from modellint.sources import Prefilter, SourceError, discover, read_source


def _files(tree: str) -> list[tuple[Path, bytes]]:
    return [(path, path.read_bytes()) for path in discover([Path(tree)]) if path.suffix == ".py"]


def read(tree: str) -> None:
    """Read the bytes of every Python file."""
    _files(tree)


def parse(tree: str, only: Prefilter | None = None) -> None:
    """Parse every Python file that `only` wants, with the garbage collector off as modellint has it."""
    gc.disable()
    warnings.simplefilter("ignore")
    for path, data in _files(tree):
        if only is None or only.wants(data):
            try:
                compile(read_source(path, data).text, str(path), "exec", 0x400, dont_inherit=True)
            except (SyntaxError, SourceError, ValueError):
                continue


def default_prefilter() -> Prefilter:
    """Return the screen of the rules that are on by default."""
    roots = [root for framework in load_frameworks() for root in framework.roots]
    rules = [rule for rule in load_rules().values() if rule.enabled and rule.runs_on == "python"]
    return Prefilter(roots, [rule.triggers for rule in rules])


def screened(tree: str) -> None:
    """Parse what the default rules open."""
    parse(tree, default_prefilter())
