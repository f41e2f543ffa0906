"""How often the engine is asked: what several wait for is worked out once, and what nobody waits for any more is left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modellint.server.desk import Desk
from modellint.server.documents import Document
from modellint.server.folders import Folder
from modellint.server.results import Result
from modellint.server.texts import Text
from modellint.settings import Overrides
from tests.server.programs import DEFECT, FINE, FORGOTTEN

Checks = list[int | None]


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Checks:
    """Return the lengths of the texts that are checked, as it happens."""
    seen: Checks = []
    check: Callable[..., Any] = Folder.check

    def counted(self: Folder, path: Path, data: bytes | None, **options: Any) -> Any:
        seen.append(None if data is None else len(data))
        return check(self, path, data, **options)

    monkeypatch.setattr(Folder, "check", counted)
    return seen


async def begun(root: Path, shown: list[Result]) -> Desk:
    desk = Desk(shown.append, print)
    await desk.start([root], Overrides())
    return desk


def document(root: Path, text: str, version: int = 1) -> Document:
    path = root / "predict.py"
    return Document(path.as_uri(), path, version, Text.of(text))


def codes(result: Result | None) -> list[str]:
    assert result is not None
    return [finding.code for finding in result.findings]


def test_many_who_wait_cost_one_check(tmp_path: Path, checks: Checks) -> None:
    async def session() -> list[Result | None]:
        desk = await begun(tmp_path, [])
        opened = document(tmp_path, FORGOTTEN)
        desk.put(opened)
        return await asyncio.gather(*(desk.fresh(opened.uri) for _ in range(5)))

    found = asyncio.run(session())
    assert [codes(one) for one in found] == [DEFECT] * 5
    assert checks == [len(FORGOTTEN)]


def test_texts_in_between_are_not_checked_to_the_end(tmp_path: Path, checks: Checks) -> None:
    shown: list[Result] = []

    async def session() -> Result | None:
        desk = await begun(tmp_path, shown)
        for version in range(20):
            desk.put(document(tmp_path, FINE + "# note\n" * version, version))
            await asyncio.sleep(0)
        desk.put(document(tmp_path, FORGOTTEN, 20))
        return await desk.fresh((tmp_path / "predict.py").as_uri())

    found = asyncio.run(session())
    assert codes(found) == DEFECT and len(checks) < 10
    assert all(one.document.version == 20 for one in shown)
