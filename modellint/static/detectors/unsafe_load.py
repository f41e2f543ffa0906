"""A pickle is loaded in full: whoever wrote the file runs code here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.context import FileContext, Finding
from modellint.static.project.facts import last_name

_REQUIREMENT = re.compile(r"""(?:^|["'\s])torch\s*(?:>=|==|~=|>|\^)\s*["']?(\d+)\.(\d+)""", re.M)
_DECLARATIONS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "environment.yml")


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report calls of the functions in the detector's option `functions` that read pickles without `weights_only`."""
    functions = set(rule.rule.detector_options["functions"])
    names = {name.rsplit(".", 1)[-1] for name in functions}
    for scope in context.scopes:
        for call in scope.calls:
            if last_name(call.func) not in names or context.qualified(scope, call.func) not in functions:
                continue
            if any(keyword.arg is None for keyword in call.keywords):
                continue
            given = next((k.value for k in call.keywords if k.arg == "weights_only"), None)
            if given is None:
                if not _requires_safe_default(context.project.root, context.module.path.parent):
                    why = "without weights_only, which is False before torch 2.6,"
                    yield Finding(context.site(call), {"why": why}, Confidence.LIKELY)
            elif isinstance(given, ast.Constant) and given.value is False:
                yield Finding(context.site(call), {"why": "with weights_only=False"})


def _requires_safe_default(root: Path, folder: Path) -> bool:
    """Tell whether the project around `folder` requires a torch whose `weights_only` is True by default (2.6)."""
    while True:
        versions = _declared(folder)
        if versions is not None:
            return versions >= (2, 6)
        if folder == root or folder == folder.parent or root not in folder.parents:
            return False
        folder = folder.parent


@cache
def _declared(folder: Path) -> tuple[int, int] | None:
    found = []
    for name in _DECLARATIONS:
        try:
            text = (folder / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        found += [(int(major), int(minor)) for major, minor in _REQUIREMENT.findall(text)]
    return min(found) if found else None
