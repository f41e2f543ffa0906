"""The server on a socket, for those who look for what is wrong between it and an editor."""

from __future__ import annotations

import socket
from pathlib import Path

from tests.server.client import Client, checked, essence
from tests.server.programs import DEFECT, FORGOTTEN


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_findings_are_those_of_check(tmp_path: Path) -> None:
    (tmp_path / "predict.py").write_text(FORGOTTEN)
    client = Client(tmp_path, free_port())
    try:
        client.start()
        found = client.diagnostics(client.open("predict.py", FORGOTTEN))
        assert [d["code"] for d in found] == DEFECT
        assert essence(found) == checked(tmp_path)[client.uri("predict.py")]
        assert client.stop() == 0
    finally:
        client.process.kill()
        client.process.wait()


def test_a_client_that_just_goes_takes_the_server_with_it(tmp_path: Path) -> None:
    client = Client(tmp_path, free_port())
    try:
        client.start()
        client.hang_up()
        assert client.process.wait(60) is not None
    finally:
        client.process.kill()
        client.process.wait()
