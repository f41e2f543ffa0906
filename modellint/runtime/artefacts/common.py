"""What the readers of all formats share: results, refusals, lines that were written down. No torch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from modellint.runtime.trace import Frame, ModuleFact, Op, Site

_SKIPPED = re.compile(r"/(?:site|dist)-packages/(?:torch|functorch)/|^<|/torch/(?:nn|_ops|fx|jit|onnx|export)/")
_LIBRARY = re.compile(r"/(?:site|dist)-packages/|/lib/python3\.\d+/")
STACK_LINE = re.compile(r'File "(?P<file>[^"]+)", line (?P<row>\d+)(?:, in (?P<function>\S+))?')
"""A line of a traceback as torch writes it into a graph."""


WITHOUT_TORCH = (".pt2", ".onnx")
"""How files end that are read without torch."""


class ArtefactProblem(Exception):
    """A file cannot be read, or is not read on purpose; the message is one line that begins with the file."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file says about the model in it. `batch` is the first axis of the first input, where it is fixed."""

    ops: tuple[Op, ...]
    modules: tuple[ModuleFact, ...] = ()
    training: bool = False
    batch: int | None = None
    notes: tuple[str, ...] = ()


class WrittenSites:
    """Interns sites of stacks that a file holds. They may come from another machine, so paths are judged by form."""

    def __init__(self, roots: Iterable[Path]) -> None:
        self._roots = tuple(f"{root}/" for root in roots)
        self._index: dict[Site, int] = {}

    @property
    def sites(self) -> tuple[Site, ...]:
        """Every site so far; `written` returns indexes into it."""
        return tuple(self._index)

    def written(self, stack: Sequence[tuple[str, str, str]]) -> int | None:
        """Return the site of a stack of (file, row, function), outermost first; None where all of it is torch's."""
        outside = [entry for entry in reversed(stack) if not _SKIPPED.search(entry[0])]
        if not outside:
            return None
        first = _frame(*outside[0])
        own = next((_frame(*entry) for entry in outside if self._is_own(entry[0])), None)
        return self._index.setdefault(Site(first, None if own == first else own), len(self._index))

    def _is_own(self, file: str) -> bool:
        inside = next((file[len(root) - 1 :] for root in self._roots if file.startswith(root)), None)
        return inside is not None and not _LIBRARY.search(inside)


def _frame(file: str, row: str, function: str) -> Frame:
    return Frame(str(Path(file)), int(row), int(row), None, function)


def one_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its type."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
