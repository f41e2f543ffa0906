"""The words that Autodiff goes by in a workspace: looked for in the texts, so that most files are never parsed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# What chooses a backend or a device that records gradients (`modellint.burn.backends`, `modellint.burn.devices`).
_SEEDS = ("Autodiff", "ADBackend", "autodiff")
# What other files can name; a private alias stands in the file that uses it.
_PUBLIC = r"\bpub(?:\([^)]*\))?\s+"
# `<Autodiff<B> as Backend>::FloatElem` is not followed: what belongs to a backend chooses none.
_ALIAS = re.compile(_PUBLIC + r"type\s+(\w+)[^=;{]*=\s*([^;<\s][^;]*);")
_USE = re.compile(_PUBLIC + r"use\s([^;]*);")
_RENAMED = re.compile(r"\b(\w+)\s+as\s+(\w+)")


class Carriers:
    """Tells of a text whether Autodiff may be chosen in it: by its own names or by `words`."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._words = {name: re.compile(rf"\b{re.escape(name)}\b") for name in words}

    def within(self, text: str) -> bool:
        """Tell whether one of the words is there."""
        if any(seed in text for seed in _SEEDS):
            return True
        return any(name in text and pattern.search(text) is not None for name, pattern in self._words.items())

    def also(self, words: Iterable[str]) -> Carriers:
        """Return these and more words."""
        more = tuple(words)
        return Carriers((*self._words, *more)) if more else self


def carriers(texts: Sequence[str]) -> Carriers:
    """Return the words of a workspace: a public alias of what carries Autodiff carries it, too, and so do its own."""
    words: list[str] = []
    fresh: Sequence[str] = _SEEDS
    while fresh:
        word = re.compile("|".join(rf"\b{name}" + (r"\b" if words else "") for name in fresh))
        found: dict[str, None] = {}
        for text in texts:
            if any(name in text for name in fresh):
                if "type " in text:
                    found.update(dict.fromkeys(name for name, value in _ALIAS.findall(text) if word.search(value)))
                if " as " in text:
                    renamed = (pair for group in _USE.findall(text) for pair in _RENAMED.findall(group))
                    found.update(dict.fromkeys(name for old, name in renamed if word.fullmatch(old)))
        fresh = [name for name in found if name not in words and name != "_"]
        words += fresh
    return Carriers(words)
