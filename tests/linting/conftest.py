"""What the tests of the cache share."""

from __future__ import annotations

from pathlib import Path

import pytest

from modellint.linting import engine as engines


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the files that an engine was given, in order."""
    seen: list[str] = []
    check = engines.Engine.check

    def spy(self: engines.Engine, path: Path, *rest: object, **named: object) -> engines.FileReport:
        seen.append(path.name)
        return check(self, path, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(engines.Engine, "check", spy)
    return seen
