"""File patterns of the configuration, in the spelling people know from `.gitignore` and ruff."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern that counts from the folder `base`.

    `tests` and `*_pb2.py` match a file or folder of that name at any depth; a pattern with a slash inside
    (`src/*/old.py`, `docs/**`) matches from `base` on. What lies in a matching folder matches, too.
    """

    pattern: str
    base: Path
    _regex: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_regex", re.compile(_translate(self.pattern)))

    def matches(self, path: Path) -> bool:
        """Tell whether the absolute `path`, or a folder around it, is meant."""
        relative = path.as_posix().lstrip("/")
        if not self.pattern.startswith("/"):
            try:
                relative = path.relative_to(self.base).as_posix()
            except ValueError:  # a name means something outside of the base, too, a place in it does not
                if "/" in self.pattern.strip("/"):
                    return False
        return self._regex.match(relative) is not None


def _translate(pattern: str) -> str:
    """Return a regular expression that a relative POSIX path starts with, up to the end of a component."""
    body = pattern.removeprefix("./").strip("/") or "*"
    anchored = "/" in pattern.removeprefix("./").rstrip("/")
    parts = []
    position = 0
    while position < len(body):
        rest = body[position:]
        if rest.startswith("**/"):
            parts.append("(?:[^/]+/)*")
            position += 3
        elif rest.startswith("**"):
            parts.append(".+")
            position += 2
        elif rest[0] == "*":
            parts.append("[^/]*")
            position += 1
        elif rest[0] == "?":
            parts.append("[^/]")
            position += 1
        elif rest[0] == "[" and (match := re.match(r"\[(!?)([^\]]+)\]", rest)):
            inner = match[2].replace("\\", "\\\\").replace("^", "\\^").replace("[", "\\[")
            parts.append(f"[{'^' if match[1] else ''}{inner}]")
            position += match.end()
        else:
            parts.append(re.escape(rest[0]))
            position += 1
    return f"{'' if anchored else '(?:.*/)?'}{''.join(parts)}(?:/|$)"
