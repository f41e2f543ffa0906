"""What the last trace found, in the editor; and the command that traces."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from modellint.linting.kept import NAME, Kept, keep, read_kept, take
from modellint.linting.store import FOLDER
from modellint.server.lasting import STALE, lasting
from tests.server.client import Client
from tests.server.programs import CONFIGURED
from tests.server.programs import TRAINING as MODEL

ROW = 11  # 0-based, of the forward
SLOW = "import time\n\n\ndef build():\n    time.sleep(600)\n"
PROGRESS = {"window": {"workDoneProgress": True}}
torch = pytest.mark.torch


def trace(folder: Path) -> None:
    command = [sys.executable, "-m", "modellint", "trace", "--quiet", "--input", "float32[2,4]", "model.py:build"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stderr


def progress(client: Client, token: Any = None) -> list[dict[str, Any]]:
    return [p["value"] for m, p in client.notes if m == "$/progress" and token in (None, p["token"])]


def ends(client: Client) -> str:
    client.until(lambda: any(value["kind"] == "end" for value in progress(client)))
    return str(progress(client)[-1]["message"])


@pytest.fixture
def project(client: Client) -> Client:
    (client.folder / "pyproject.toml").write_text("")
    (client.folder / "model.py").write_text(MODEL)
    return client


@torch
class TestTheLastTrace:
    def test_nothing_is_shown_before_one(self, project: Client) -> None:
        project.start()
        uri = project.open("model.py", MODEL)
        assert project.diagnostics(uri) == []

    def test_a_damaged_record_shows_nothing(self, project: Client) -> None:
        trace(project.folder)
        record = project.folder / FOLDER / NAME
        record.write_bytes(record.read_bytes()[:-40])
        project.start()
        uri = project.open("model.py", MODEL)
        assert project.diagnostics(uri) == []

    def test_another_file_shows_nothing(self, project: Client) -> None:
        trace(project.folder)
        project.start()
        assert project.diagnostics(project.open("other.py", MODEL)) == []

    def test_a_rule_that_is_off_shows_nothing(self, project: Client) -> None:
        trace(project.folder)
        project.start(initializationOptions={"ignore": ["ML601"]})
        assert project.diagnostics(project.open("model.py", MODEL)) == []

    def test_a_comment_silences_it(self, project: Client) -> None:
        trace(project.folder)
        project.start()
        silenced = MODEL.replace("self.drop(x))\n", "self.drop(x))  # modellint: ignore[ML601]\n")
        assert project.diagnostics(project.open("model.py", silenced)) == []

    def test_its_findings_are_in_the_lines_of_the_model(self, project: Client) -> None:
        trace(project.folder)
        project.start()
        uri = project.open("model.py", MODEL)
        (found,) = project.diagnostics(uri)
        assert (found["code"], found["range"]["start"]["line"], found["severity"]) == ("ML601", ROW, 1)
        assert STALE not in found["message"] and found["data"]["target"] == "model.py:build"
        place = {"line": ROW, "character": 27}
        shown = project.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": place})
        assert "active-dropout" in shown["contents"]["value"]

    def test_a_changed_file_marks_them_and_moves_them_along(self, project: Client) -> None:
        trace(project.folder)
        project.start()
        uri = project.open("model.py", MODEL)
        project.diagnostics(uri)
        project.replace(uri, "# a note\n" + MODEL)
        (found,) = project.diagnostics(uri)
        assert (found["range"]["start"]["line"], found["severity"]) == (ROW + 1, 3)
        assert STALE in found["message"]
        project.replace(uri, MODEL.replace("self.last(self.drop(x))", "self.last(x)"))
        assert project.diagnostics(uri) == []
        project.replace(uri, MODEL)
        assert STALE not in project.diagnostics(uri)[0]["message"]

    def test_half_a_program_keeps_them(self, project: Client) -> None:
        trace(project.folder)
        project.start()
        uri = project.open("model.py", MODEL)
        project.diagnostics(uri)
        project.replace(uri, MODEL + "\ndef unfinished(\n")
        assert [d["code"] for d in project.diagnostics(uri)] == ["ML601", "ML002"]

    def test_a_trace_in_a_terminal_is_noticed(self, project: Client) -> None:
        project.start()
        uri = project.open("model.py", MODEL)
        assert project.diagnostics(uri) == []
        trace(project.folder)
        record = (project.folder / FOLDER / NAME).as_uri()
        project.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": record, "type": 1}]})
        project.settles(uri, ["ML601"])

    def test_clients_that_fetch_get_them_too(self, project: Client) -> None:
        trace(project.folder)
        project.start({"textDocument": {"diagnostic": {}}})
        uri = project.open("model.py", MODEL)
        report = project.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        assert [d["code"] for d in report["items"]] == ["ML601"]


@torch
class TestTheCommand:
    def test_without_a_model_it_says_so(self, project: Client) -> None:
        project.start()
        assert project.request("workspace/executeCommand", {"command": "modellint.trace"}) is None
        project.until(lambda: any("no model to trace" in message for message in project.messages()))

    @pytest.mark.parametrize("arguments", [[1], [{"target": 1}], [{"input": []}], [{"target": "a:b", "inputs": "x"}]])
    def test_wrong_arguments_are_an_error(self, project: Client, arguments: list[Any]) -> None:
        project.start()
        params = {"command": "modellint.trace", "arguments": arguments}
        reply = project.reply(project.ask("workspace/executeCommand", params))
        assert reply["error"]["code"] == -32602 and "modellint.trace" in reply["error"]["message"]

    def test_an_unknown_command_is_an_error(self, project: Client) -> None:
        project.start()
        reply = project.reply(project.ask("workspace/executeCommand", {"command": "modellint.nothing"}))
        assert reply["error"]["code"] == -32602

    def test_it_runs_the_models_of_the_configuration_in_the_background(self, project: Client) -> None:
        (project.folder / ".modellint.yaml").write_text(CONFIGURED)
        capabilities = project.start(PROGRESS)["capabilities"]
        assert capabilities["executeCommandProvider"]["commands"] == ["modellint.trace"]
        uri = project.open("model.py", MODEL)
        assert project.diagnostics(uri) == []
        assert project.request("workspace/executeCommand", {"command": "modellint.trace"}) is None
        assert ends(project) == "1 finding"
        assert [value["kind"] for value in progress(project)][:1] == ["begin"]
        project.settles(uri, ["ML601"])
        assert [d.code for d in read_kept(project.folder).findings] == ["ML601"]

    def test_with_a_token_the_answer_waits(self, project: Client) -> None:
        project.start()
        target = {"target": "model.py:build", "inputs": ["float32[2,4]"]}
        params = {"command": "modellint.trace", "arguments": [target], "workDoneToken": "mine"}
        assert project.request("workspace/executeCommand", params) == {"models": 1, "findings": 1}
        kinds = [value["kind"] for value in progress(project, "mine")]
        assert (kinds[0], kinds[-1]) == ("begin", "end")

    def test_a_model_that_fails_is_told(self, project: Client) -> None:
        project.start(PROGRESS)
        project.request("workspace/executeCommand", {"command": "modellint.trace", "arguments": ["model.py:absent"]})
        ends(project)
        assert any("absent" in message for message in project.messages())

    @pytest.mark.parametrize("way", ["progress", "request", "shutdown"])
    def test_it_can_be_cancelled(self, project: Client, way: str) -> None:
        (project.folder / "slow.py").write_text(SLOW)
        trace(project.folder)
        project.start(PROGRESS)
        params: dict[str, Any] = {"command": "modellint.trace", "arguments": ["slow.py:build"]}
        if way == "request":
            number = project.ask("workspace/executeCommand", {**params, "workDoneToken": 7})
        else:
            project.request("workspace/executeCommand", params)
        project.until(lambda: progress(project))
        token = next(p["token"] for m, p in project.notes if m == "$/progress")
        second = project.request("workspace/executeCommand", params)
        assert second is None and any("already" in message for message in project.messages())
        started = time.monotonic()
        if way == "progress":
            project.notify("window/workDoneProgress/cancel", {"token": token})
        elif way == "request":
            project.notify("$/cancelRequest", {"id": number})
            assert project.reply(number)["error"]["code"] == -32800
        if way != "shutdown":
            assert ends(project) == "cancelled"
        assert project.stop() == 0
        assert time.monotonic() - started < 300
        assert len(read_kept(project.folder).findings) == 1  # those of the trace before


def test_a_file_written_while_models_ran_has_no_text(tmp_path: Path) -> None:
    """Nobody knows which of its texts was traced: its findings are marked at once."""
    from modellint.diagnostic import Confidence, Diagnostic, Severity, Span

    file = tmp_path / "model.py"
    file.write_text(MODEL)
    found = Diagnostic(
        "ML601", "x", Severity.ERROR, Confidence.CERTAIN, "m", str(file), Span.of(ROW + 1, 9, ROW + 1, 12)
    )
    early, late = take([found], time.time_ns() - 10**12), take([found], time.time_ns() + 10**12)
    assert (early.texts, late.texts) == ({}, {str(file): MODEL})
    assert [d.message for d in lasting(late, file, Path.read_bytes)] == ["m"]
    assert [d.message for d in lasting(early, file, Path.read_bytes)] == [f"m ({STALE})"]
    keep(tmp_path, late)
    assert read_kept(tmp_path) == late
    assert read_kept(tmp_path / "elsewhere") == Kept()
