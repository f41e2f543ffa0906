"""What a child says, line by line: parts while it works, and one answer at the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

_PART = b'{"part"'
Listener = Callable[[Mapping[str, Any]], None]


class Reply:
    """Collects the lines of one child. `listener` is told every part as it comes."""

    def __init__(self, listener: Listener | None = None) -> None:
        self._listener = listener
        self._rest = b""
        self._answer: Mapping[str, Any] | None = None
        self._trace: dict[str, Any] | None = None

    @property
    def finished(self) -> bool:
        """Tell whether the child has given its answer."""
        return self._answer is not None

    def feed(self, data: bytes) -> None:
        """Take in what the child has sent."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if not line.startswith(_PART):
                self._answer = json.loads(line)
                continue
            part = json.loads(line)
            if "trace" in part:
                self._trace = part["trace"]
            elif "result" in part and self._trace is not None:
                self._trace.setdefault("probes", []).append(part["result"])
                self._trace.setdefault("sites", []).extend(part["sites"])
            if self._listener is not None:
                self._listener(part)

    def answer(self) -> Mapping[str, Any] | None:
        """Return the answer or, of a child that is gone, what its parts amount to; None where it said nothing."""
        if self._answer is None and self._trace is not None:
            return {"trace": self._trace, "unfinished": True}
        return self._answer
