"""How often the engine is asked: once for all who wait, and not to the end for what nobody waits for any more."""

from __future__ import annotations

import asyncio
import threading
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
from tests.server.programs import DEFECT, FINE, FORGOTTEN, MODEL, SCRIPT

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


def document(root: Path, text: str, version: int = 1, name: str = "predict.py") -> Document:
    path = root / name
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


def test_a_check_ends_at_the_next_rule_once_its_text_is_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from modellint.static import analyzer

    desk: Desk
    rules: list[int | None] = []
    known = analyzer.detector

    def typing(name: str) -> Any:
        rules.append(desk.documents[uri].version)
        if len(rules) == 3:  # somebody types while the third rule runs
            loop.call_soon_threadsafe(desk.put, document(tmp_path, FORGOTTEN, 2))
            while desk.documents[uri].version == 1:
                pass
        return known(name)

    async def session() -> Result | None:
        nonlocal desk, loop
        desk, loop = await begun(tmp_path, []), asyncio.get_running_loop()
        desk.put(document(tmp_path, FINE))
        return await desk.fresh(uri)

    uri = (tmp_path / "predict.py").as_uri()
    loop: asyncio.AbstractEventLoop
    monkeypatch.setattr(analyzer, "detector", typing)
    assert codes(asyncio.run(session())) == DEFECT
    assert rules[:4] == [1, 1, 1, 2]


def test_a_text_that_was_replaced_while_it_waited_never_counts_for_other_files(tmp_path: Path) -> None:
    forgetful = MODEL.replace("    net.eval()\n", "")
    (tmp_path / "model.py").write_text(MODEL)

    async def session() -> Result | None:
        desk = await begun(tmp_path, [])
        script = document(tmp_path, SCRIPT)
        for opened in (document(tmp_path, MODEL, 1, "model.py"), script):
            desk.put(opened)
            await desk.fresh(opened.uri)
        while desk._pushing:
            await asyncio.sleep(0)
        free = threading.Event()
        desk._worker._thread.submit(free.wait)  # a busy machine
        desk.put(document(tmp_path, forgetful, 2, "model.py"))
        waiting = [asyncio.create_task(desk.fresh((tmp_path / name).as_uri())) for name in ("model.py", "predict.py")]
        while desk._checking is None:
            await asyncio.sleep(0)
        desk.put(document(tmp_path, MODEL, 3, "model.py"))
        free.set()
        await asyncio.gather(*waiting)
        return await desk.fresh(script.uri)

    assert codes(asyncio.run(session())) == []
