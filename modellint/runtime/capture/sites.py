"""From a running stack to source lines: the innermost outside torch, and the innermost in the user's project."""

from __future__ import annotations

import itertools
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch

from modellint.runtime.trace import Frame, Site

_TORCH = str(Path(torch.__file__).resolve().parent) + "/"
_OURS = str(Path(__file__).resolve().parents[2]) + "/"
_STDLIB = tuple({str(Path(sysconfig.get_path(name)).resolve()) + "/" for name in ("stdlib", "platstdlib")})
_SITE = ("/site-packages/", "/dist-packages/")
_SKIP, _LIBRARY, _PROJECT = 0, 1, 2


class SiteTable:
    """Interns sites; `site()` is called for every operation, so it looks a code object up in a dict."""

    def __init__(self, roots: Iterable[Path]) -> None:
        self._roots = tuple(str(root) + "/" for root in roots)
        self._kinds: dict[CodeType, int] = {}
        self._index: dict[tuple[Any, ...], int] = {}
        self._sites: list[Site] = []

    @property
    def sites(self) -> tuple[Site, ...]:
        """Every site so far; `site()` returns indexes into it."""
        return tuple(self._sites)

    def kind(self, code: CodeType) -> int:
        """Classify a code object: torch's or ours or generated (0), a library's (1), the user's (2)."""
        found = self._kinds.get(code)
        if found is None:
            found = self._kinds[code] = self._classify(code.co_filename)
        return found

    def _classify(self, filename: str) -> int:
        if filename.startswith(("<", _TORCH, _OURS)):
            return _SKIP
        try:
            path = str(Path(filename).resolve())
        except OSError:
            return _SKIP
        if path.startswith((_TORCH, _OURS)):
            return _SKIP
        for root in self._roots:
            if path.startswith(root) and not any(part in path[len(root) - 1 :] for part in _SITE):
                return _PROJECT
        if path.startswith(_STDLIB) and not any(part in path for part in _SITE):
            return _SKIP
        return _LIBRARY

    def site(self, frame: FrameType | None) -> int | None:
        """Return the index of the site in which `frame` runs; None where everything is torch's or ours."""
        first = second = None
        while frame is not None:
            kind = self.kind(frame.f_code)
            if kind != _SKIP:
                if first is None:
                    first = frame
                if kind == _PROJECT:
                    second = frame
                    break
            frame = frame.f_back
        return self._intern(first, second)

    def called(self, frame: FrameType | None = None) -> int | None:
        """Return the site of whoever called us."""
        return self.site(frame or sys._getframe(1))

    def constructed(self, frame: FrameType | None, module: object) -> int | None:
        """Return where `module` is being constructed: outside its own chain of `__init__`."""
        while frame is not None and (
            self.kind(frame.f_code) == _SKIP
            or (frame.f_code.co_name == "__init__" and frame.f_locals.get("self") is module)
        ):
            frame = frame.f_back
        return self.site(frame)

    def written(self, stack: Sequence[tuple[str, str, str]]) -> int | None:
        """Return the site of a stack that was written down as (file, row, function), outermost first."""
        first = second = None
        for file, row, function in reversed(stack):
            kind = self._classify(file)
            if kind != _SKIP:
                frame = Frame(str(Path(file).resolve()), int(row), int(row), None, function)
                first = first or frame
                if kind == _PROJECT:
                    second = frame
                    break
        if first is None:
            return None
        site = Site(first, None if second == first else second)
        if (index := self._index.get((site,))) is None:
            index = self._index[(site,)] = len(self._sites)
            self._sites.append(site)
        return index

    def traceback(self, error: BaseException) -> tuple[Frame | None, Frame | None]:
        """Return (innermost frame outside torch, innermost frame of the project) of a raised error."""
        first = second = None
        trace = error.__traceback__
        while trace is not None:
            kind = self.kind(trace.tb_frame.f_code)
            if kind != _SKIP:
                first = _frame(trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
                if kind == _PROJECT:
                    second = first
            trace = trace.tb_next
        return first, (None if second == first else second)

    def _intern(self, first: FrameType | None, second: FrameType | None) -> int | None:
        if first is None:
            return None
        key: tuple[Any, ...] = (first.f_code, first.f_lasti)
        if second is not None and second is not first:
            key = (*key, second.f_code, second.f_lasti)
        index = self._index.get(key)
        if index is None:
            here = _frame(first, first.f_lasti, first.f_lineno)
            there = None
            if second is not None and second is not first:
                there = _frame(second, second.f_lasti, second.f_lineno)
            index = self._index[key] = len(self._sites)
            self._sites.append(Site(here, there))
        return index


def _frame(frame: FrameType, lasti: int, row: int | None) -> Frame:
    code = frame.f_code
    row = row or code.co_firstlineno
    end_row, columns = row, None
    if hasattr(code, "co_positions"):
        place = next(itertools.islice(code.co_positions(), max(lasti, 0) // 2, None), None)
        if place and None not in place and place[0] == row:
            end_row, columns = place[1] or row, (place[2] or 0, place[3] or 0)
    return Frame(str(Path(code.co_filename).resolve()), row, end_row, columns, _qualified(frame))


def _qualified(frame: FrameType) -> str:
    name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
    return f"{frame.f_globals.get('__name__', '')}.{name}"


def definition(value: Any, fallback: Path) -> Frame:
    """Return where a class or function is defined; the first line of `fallback` where that is unknown."""
    import inspect

    try:
        lines, row = inspect.getsourcelines(value)
        filename = str(Path(inspect.getsourcefile(value) or fallback).resolve())
    except (OSError, TypeError):
        return Frame(str(fallback), 1, 1, None, "")
    for offset, line in enumerate(lines):
        if line.lstrip().startswith(("def ", "class ", "async def ")):
            row += offset
            break
    return Frame(filename, row, row, None, getattr(value, "__qualname__", ""))
