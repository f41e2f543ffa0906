"""Which version of a package a project declares to need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

from modellint.sources.projects import DECLARATIONS

Version: TypeAlias = "tuple[int, int]"

_WANTED = re.compile(r"^([A-Za-z0-9_.-]+)>=(\d+)\.(\d+)$")


class _Declared(NamedTuple):
    """The lowest and the highest version that are allowed, as far as that is said: major and minor number."""

    lowest: Version | None = None
    highest: Version | None = None


_NOTHING = _Declared()
_ALSO = {"torch": ("pytorch",)}  # as conda calls it
_FROM, _UP_TO = frozenset({">=", "==", "=", "~=", ">", "^"}), frozenset({"==", "=", "<", "<="})


def required(root: Path, folder: Path, wanted: str) -> bool:
    """Tell whether the project around `folder`, up to `root`, requires at least `wanted`, written `torch>=2.6`."""
    match = _WANTED.match(wanted)
    assert match is not None, wanted
    declared = next((d.lowest for d in _around(root, folder, match[1]) if d.lowest is not None), None)
    return declared is not None and declared >= (int(match[2]), int(match[3]))


def is_held_below(root: Path, folder: Path, package: str, version: Version) -> bool:
    """Tell whether the project around `folder`, up to `root`, allows no release of `package` from `version` on."""
    declared = next(_around(root, folder, package), None)
    return declared is not None and declared.highest is not None and declared.highest < version


def _around(root: Path, folder: Path, package: str) -> Iterator[_Declared]:
    """Yield what is declared of a package in a folder and in those around it."""
    while True:
        declared = _declared(folder, package)
        if declared != _NOTHING:
            yield declared
        if folder == root or folder == folder.parent or root not in folder.parents:
            return
        folder = folder.parent


@cache
def _declared(folder: Path, package: str) -> _Declared:
    """Return what the declarations in `folder` allow of a package, by any of its names."""
    names = "|".join(map(re.escape, (package, *_ALSO.get(package, ()))))
    found = []
    for name in DECLARATIONS:
        try:
            text = (folder / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        needs = re.findall(rf"""(?:^|["'\s])(?:{names})\s*(>=|={{1,2}}|~=|<=?|>|\^)\s*["']?(\d+)\.(\d+)""", text, re.M)
        found += [(sign, (int(major), int(minor))) for sign, major, minor in needs]
    lowest = [version for sign, version in found if sign in _FROM]
    highest = [(version[0], version[1] - 1) if sign == "<" else version for sign, version in found if sign in _UP_TO]
    return _Declared(min(lowest, default=None), max(highest, default=None))
