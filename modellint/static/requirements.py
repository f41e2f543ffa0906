"""Which version of a package a project declares to need."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

from modellint.sources.projects import DECLARATIONS, PROSE

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
    declared = next((d.lowest for d in _around(root, folder, match[1], _declared) if d.lowest is not None), None)
    return declared is not None and declared >= (int(match[2]), int(match[3]))


def is_held_below(root: Path, folder: Path, package: str, version: Version) -> bool:
    """Tell whether the project around `folder`, up to `root`, allows no release of `package` from `version` on.

    Where nothing is declared, what it says in prose counts: `Our experiment environment is PyTorch 0.3.1`.
    """
    declared = next(_around(root, folder, package, _declared), None) or next(
        _around(root, folder, package, _said), None
    )
    return declared is not None and declared.highest is not None and declared.highest < version


def readmes(root: Path, folder: Path) -> Iterator[Path]:
    """Yield where the project around `folder`, up to `root`, may say in prose what it needs, there or not."""
    for place in _folders(root, folder):
        yield from (place / name for name in PROSE)


def _around(root: Path, folder: Path, package: str, read: Callable[[Path, str], _Declared]) -> Iterator[_Declared]:
    """Yield what `read` finds of a package in a folder and in those around it: declared there, or said."""
    found = (read(place, package) for place in _folders(root, folder))
    return (declared for declared in found if declared != _NOTHING)


def _folders(root: Path, folder: Path) -> Iterator[Path]:
    """Yield `folder` and those around it up to `root`."""
    while True:
        yield folder
        if folder == root or folder == folder.parent or root not in folder.parents:
            return
        folder = folder.parent


@cache
def _declared(folder: Path, package: str) -> _Declared:
    """Return what the declarations in `folder` allow of a package, by any of its names."""
    found = []
    for text in _texts(folder, DECLARATIONS):
        pattern = rf"""(?:^|["'\s])(?:{_names(package)})\s*(>=|={{1,2}}|~=|<=?|>|\^)\s*["']?(\d+)\.(\d+)"""
        needs = re.findall(pattern, text, re.M)
        found += [(sign, (int(major), int(minor))) for sign, major, minor in needs]
    lowest = [version for sign, version in found if sign in _FROM]
    highest = [(version[0], version[1] - 1) if sign == "<" else version for sign, version in found if sign in _UP_TO]
    return _Declared(min(lowest, default=None), max(highest, default=None))


@cache
def _said(folder: Path, package: str) -> _Declared:
    """Return the newest version of a package that the readme in `folder` speaks of.

    Nothing where it says that others will do, or that things have changed, or where any release is declared beside it.
    """
    versions: list[Version] = []
    if any(
        re.search(rf"""(?:^|["'\s])(?:{_names(package)})["']?\s*$""", t, re.M) for t in _texts(folder, DECLARATIONS)
    ):
        return _NOTHING
    for text in _texts(folder, PROSE):
        link = r"\]?(?:\(https?:[^)\s]*\))?"
        for several in re.finditer(rf"\b(?:{_names(package)}){link}{_LISTED}", text, re.IGNORECASE):
            around = text[max(several.start() - _NEARBY, 0) : several.end() + _NEARBY]
            if _OPEN.search(around) or _NEWER.search(text[several.end() :].partition("\n")[0]):
                return _NOTHING
            versions += [(int(major), int(minor)) for major, minor in re.findall(r"(\d+)\.(\d+)[\w.]*", several[1])]
    return _Declared(highest=max(versions, default=None))


_VERSION = r"v?\.?\d+\.\d+(?:\.\w+)*"
_LISTED = rf"[\s*`(=]*(?:version\s*)?({_VERSION}(?:\s*(?:[/,&~-]|and|or|to)\s*{_VERSION})*)"
"""How prose tells versions, one or several: `PyTorch 0.3.1`, `torch (version 0.2 and 0.3)`."""
_NEARBY = 60
_OPEN = re.compile(
    r">|\u2265|\d\s*\+|\d\.x|\b(later|newer|above|higher|greater|up|upward\w*|onward\w*|more|least|from|since|latest|recent|minimum|"
    r"min|upgrad\w*|updat\w*|port(ed|ing)?|migrat\w*|now|also|no|not|longer|n't|any|deprecat\w*|old|legacy|branch|before)\b",
    re.I,
)
"""What near a version says that it is not the only one, or that it was the one of another time."""
_NEWER = re.compile(r"\b(0\.[4-9]|[12]\.\d)")
"""Versions behind it on the line that may be of the package, too."""


def _names(package: str) -> str:
    return "|".join(map(re.escape, (package, *_ALSO.get(package, ()))))


def _texts(folder: Path, names: Iterable[str]) -> Iterator[str]:
    """Yield what the files in `folder` that have one of `names` hold."""
    for name in names:
        with suppress(OSError):
            yield (folder / name).read_text(encoding="utf-8", errors="replace")
