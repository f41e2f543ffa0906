"""Which files hold a word: an index of the words of all texts, read once."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

_WORD = re.compile(rb"[A-Za-z0-9_\x80-\xff]+")


class Mentions:
    """The words of `paths`. The texts themselves are not kept; what cannot be read holds no word."""

    def __init__(self, paths: Iterable[Path], read: Callable[[Path], bytes]) -> None:
        self._read = read
        self._numbers: dict[Path, int] = {}
        self._replaced: dict[int, bytes] = {}
        self._known: dict[str, array[int]] = {}  # by number: some words are in a thousand files
        holders: dict[bytes, int | array[int]] = {}  # most words are in one file
        for path in paths:
            try:
                words = set(_WORD.findall(read(path)))
            except OSError:
                continue
            number = self._numbers[path] = len(self._numbers)
            for word in words:
                known = holders.setdefault(word, number)
                if isinstance(known, array):
                    known.append(number)
                elif known != number:
                    holders[word] = array("I", (known, number))
        self._paths = tuple(self._numbers)
        # a project has hundreds of thousands of words, and as many objects would take ten times the memory
        self._vocabulary = b"\n%s\n" % b"\n".join(holders)
        self._starts = array("I", accumulate((len(word) + 1 for word in holders), initial=1))
        self._holders = array("I")
        self._ends = array("I")
        for known in holders.values():
            self._holders.extend(known if isinstance(known, array) else (known,))
            self._ends.append(len(self._holders))

    def __contains__(self, path: Path) -> bool:
        return path in self._numbers

    def replace(self, path: Path, text: bytes) -> None:
        """Go by `text` from now on for a file that was read."""
        self._replaced[self._numbers[path]] = text
        for word, numbers in list(self._known.items()):
            if (self._numbers[path] in numbers) != (word.encode(errors="surrogateescape") in text):
                del self._known[word]

    def of(self, text: str) -> tuple[Path, ...]:
        """Return the files whose text holds `text`, also inside a longer word, in the order of `paths`."""
        if text not in self._known:
            self._known[text] = array("I", self._find(text))
        return tuple(self._paths[number] for number in self._known[text])

    def _find(self, text: str) -> Iterator[int]:
        needle = text.encode(errors="surrogateescape")  # a file name need not be text
        parts = _WORD.findall(needle)
        found = set(self._numbers.values())
        for part in parts:
            found &= {number for word in self._words_with(part) for number in self._files(word)}
        found -= self._replaced.keys()
        found |= {number for number, new in self._replaced.items() if needle in new}
        in_one_word = parts == [needle]
        for number in sorted(found):
            if in_one_word or number in self._replaced or self._holds(self._paths[number], needle):
                yield number

    def _words_with(self, part: bytes) -> Iterator[int]:
        """Yield the places, in their order, of the words that `part` stands in."""
        vocabulary = self._vocabulary
        at = vocabulary.find(part)
        while at >= 0:
            end = vocabulary.index(b"\n", at)
            yield bisect_right(self._starts, at) - 1
            at = vocabulary.find(part, end)

    def _files(self, word: int) -> Sequence[int]:
        return self._holders[self._ends[word - 1] if word else 0 : self._ends[word]]

    def _holds(self, path: Path, needle: bytes) -> bool:
        try:
            return needle in self._read(path)
        except OSError:
            return False
