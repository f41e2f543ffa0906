from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.client import Client

pytest.importorskip("pygls")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    made = Client(tmp_path)
    try:
        yield made
        assert made.stop() == 0
    finally:
        made.process.kill()
        made.process.wait()
