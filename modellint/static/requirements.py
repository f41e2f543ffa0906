"""Which version of a package a project declares to need."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_DECLARATIONS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "environment.yml")
_WANTED = re.compile(r"^([A-Za-z0-9_.-]+)>=(\d+)\.(\d+)$")


def required(root: Path, folder: Path, wanted: str) -> bool:
    """Tell whether the project around `folder`, up to `root`, requires at least `wanted`, written `torch>=2.6`."""
    match = _WANTED.match(wanted)
    assert match is not None, wanted
    while True:
        declared = _declared(folder, match[1])
        if declared is not None:
            return declared >= (int(match[2]), int(match[3]))
        if folder == root or folder == folder.parent or root not in folder.parents:
            return False
        folder = folder.parent


@cache
def _declared(folder: Path, package: str) -> tuple[int, int] | None:
    """Return the lowest version that the declarations in `folder` allow, None where none names the package."""
    needs = rf"""(?:^|["'\s]){re.escape(package)}\s*(?:>=|==|~=|>|\^)\s*["']?(\d+)\.(\d+)"""
    found = []
    for name in _DECLARATIONS:
        try:
            text = (folder / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        found += [(int(major), int(minor)) for major, minor in re.findall(needs, text, re.M)]
    return min(found) if found else None
