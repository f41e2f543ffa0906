"""Opening, typing, saving, closing, as an editor does it; nothing that a client sends may end the server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.client import Client, checked, edit, essence
from tests.server.programs import DEFECT, FINE, FORGOTTEN, MODEL, SCRIPT


def codes(items: list[dict[str, Any]]) -> list[str]:
    return [item["code"] for item in items]


class TestSilent:
    def test_a_correct_program(self, client: Client) -> None:
        client.start()
        assert client.diagnostics(client.open("predict.py", FINE)) == []

    def test_a_file_that_is_excluded(self, client: Client) -> None:
        (client.folder / ".modellint.yaml").write_text("exclude: [old]\n")
        (client.folder / "old").mkdir()
        (client.folder / "old/predict.py").write_text(FORGOTTEN)
        client.start()
        assert client.diagnostics(client.open("old/predict.py", FORGOTTEN)) == []
        assert client.diagnostics(client.open("old/unsaved.py", FORGOTTEN)) == []

    def test_a_file_of_an_environment(self, client: Client) -> None:
        path = client.folder / ".venv/lib/library.py"
        path.parent.mkdir(parents=True)
        path.write_text(FORGOTTEN)
        client.start()
        assert client.diagnostics(client.open(".venv/lib/library.py", FORGOTTEN)) == []

    def test_a_text_of_another_language(self, client: Client) -> None:
        client.start()
        other = client.open("notes.md", FORGOTTEN, language="markdown")
        client.diagnostics(client.open("predict.py", FINE))
        assert client.published(other) == []

    def test_a_finding_that_was_repaired(self, client: Client) -> None:
        client.start()
        uri = client.open("predict.py", FORGOTTEN)
        assert codes(client.diagnostics(uri)) == DEFECT
        client.change(uri, edit((7, 0), (7, 0), "    model.eval()\n"))
        assert client.diagnostics(uri) == []

    def test_a_closed_file(self, client: Client) -> None:
        client.start()
        uri = client.open("predict.py", FORGOTTEN)
        client.diagnostics(uri)
        client.close(uri)
        client.settles(uri, [])


class TestFindings:
    def test_are_those_of_check(self, client: Client) -> None:
        (client.folder / "predict.py").write_text(FORGOTTEN)
        client.start()
        uri = client.open("predict.py", FORGOTTEN)
        assert essence(client.diagnostics(uri)) == checked(client.folder)[uri] != []

    def test_come_with_their_story_and_a_link(self, client: Client) -> None:
        client.start()
        uri = client.open("predict.py", FORGOTTEN)
        (found,) = client.diagnostics(uri)
        assert found["source"] == "modellint"
        assert found["codeDescription"]["href"].startswith("https://")
        (place,) = found["relatedInformation"]
        assert (place["location"]["uri"], place["location"]["range"]["start"]["line"]) == (uri, 6)

    def test_of_a_buffer_count_not_those_of_the_disk(self, client: Client) -> None:
        (client.folder / "predict.py").write_text(FORGOTTEN)
        client.start()
        assert client.diagnostics(client.open("predict.py", FINE)) == []

    def test_of_a_file_that_was_never_saved(self, client: Client) -> None:
        client.start()
        assert codes(client.diagnostics(client.open("untitled:Untitled-1", FORGOTTEN))) == DEFECT

    def test_without_any_folder(self, client: Client) -> None:
        client.start(rootUri=None, workspaceFolders=None)
        assert codes(client.diagnostics(client.open("predict.py", FORGOTTEN))) == DEFECT

    def test_an_idle_suppression_is_faded(self, client: Client) -> None:
        client.start()
        (found,) = client.diagnostics(client.open("fine.py", "import torch  # modellint: ignore[ML101]\n"))
        assert (found["code"], found["tags"]) == ("ML001", [1])

    def test_of_rust(self, client: Client) -> None:
        pytest.importorskip("tree_sitter_rust")
        (client.folder / "Cargo.toml").write_text('[package]\nname = "x"\n[dependencies]\nburn = "0.17"\n')
        text = "use burn::tensor::Tensor;\n// modellint: ignore[ML501]\nfn main() {}\n"
        client.start()
        assert codes(client.diagnostics(client.open("main.rs", text, language="rust"))) == ["ML001"]


class TestPositions:
    TEXT = FORGOTTEN.replace("return model(batch)", "return '😀é', model(batch)")

    @pytest.mark.parametrize(("encoding", "column"), [("utf-8", 21), ("utf-16", 18), ("utf-32", 17)])
    def test_count_what_was_agreed_on(self, client: Client, encoding: str, column: int) -> None:
        result = client.start({"general": {"positionEncodings": [encoding]}})
        assert result["capabilities"]["positionEncoding"] == encoding
        (found,) = client.diagnostics(client.open("predict.py", self.TEXT))
        assert found["range"]["start"] == {"line": 7, "character": column}

    def test_count_utf_16_unless_agreed_otherwise(self, client: Client) -> None:
        client.start()
        uri = client.open("predict.py", self.TEXT)
        (found,) = client.diagnostics(uri)
        assert found["range"]["start"]["character"] == 18
        client.change(uri, edit((7, 12), (7, 14), "xyz"))  # the astral character
        (found,) = client.diagnostics(uri)
        assert found["range"]["start"]["character"] == 19

    def test_lines_end_as_the_protocol_has_it(self, client: Client) -> None:
        client.start()
        text = "# a form feed \f and a separator \u2028 end no line\r\n" + FORGOTTEN.replace("\n", "\r\n")
        uri = client.open("predict.py", text)
        assert client.diagnostics(uri)[0]["range"]["start"] == {"line": 8, "character": 11}
        client.change(uri, edit((0, 0), (1, 0), ""))
        assert client.diagnostics(uri)[0]["range"]["start"] == {"line": 7, "character": 11}


class TestHalfTyped:
    def test_programs_keep_the_last_good_findings_where_they_are_now(self, client: Client) -> None:
        client.start()
        uri = client.open("predict.py", FORGOTTEN)
        client.diagnostics(uri)
        client.change(uri, edit((2, 0), (2, 0), "import (\n\n"))
        kept = client.diagnostics(uri)
        assert [(d["code"], d["range"]["start"]["line"]) for d in kept] == [("ML002", 2), ("ML101", 9)]
        client.change(uri, edit((0, 0), (0, 0), "\n"))
        kept = client.diagnostics(uri)
        assert [(d["code"], d["range"]["start"]["line"]) for d in kept] == [("ML002", 3), ("ML101", 10)]
        client.replace(uri, FINE)
        assert client.diagnostics(uri) == []

    def test_programs_never_parsed_have_nothing_to_keep(self, client: Client) -> None:
        client.start()
        assert codes(client.diagnostics(client.open("predict.py", "import (\n" + FORGOTTEN))) == ["ML002"]

    def test_findings_in_deleted_lines_are_gone(self, client: Client) -> None:
        client.start()
        uri = client.open("predict.py", FORGOTTEN)
        client.diagnostics(uri)
        client.change(uri, edit((5, 0), (9, 0), "def (\n"))
        assert codes(client.diagnostics(uri)) == ["ML002"]


class TestBadMessages:
    def test_a_change_of_a_file_that_is_not_open(self, client: Client) -> None:
        client.start()
        stranger = client.uri("stranger.py")
        client.change(stranger, edit((0, 0), (9, 9), FORGOTTEN))
        client.save(stranger)
        client.close(stranger)
        assert codes(client.diagnostics(client.open("predict.py", FORGOTTEN))) == DEFECT
        assert client.published(stranger) == []

    @pytest.mark.parametrize("version", [0, 1, 77])
    def test_a_wrong_version(self, client: Client, version: int) -> None:
        client.start()
        uri = client.open("predict.py", FORGOTTEN)
        client.diagnostics(uri)
        client.change(uri, edit((7, 0), (7, 0), "    model.eval()\n"), version=version)
        client.settles(uri, [])

    @pytest.mark.parametrize(
        ("start", "end"), [((10**9, 0), (10**9, 5)), ((8, 0), (10**6, 10**6)), ((10**6, 3), (8, 0)), ((8, 5), (8, 0))]
    )
    def test_ranges_outside_of_the_text(self, client: Client, start: tuple[int, int], end: tuple[int, int]) -> None:
        client.start()
        uri = client.open("predict.py", FORGOTTEN)
        client.change(uri, edit(start, end, "\n# the end\n"))
        assert codes(client.diagnostics(uri)) == DEFECT

    def test_messages_that_are_none(self, client: Client) -> None:
        client.start()
        client.send_raw(b"{ no json")
        client.send_raw(json.dumps({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"x": 1}}).encode())
        client.notify("textDocument/didChange", {"textDocument": {"uri": 5}, "contentChanges": "no"})
        client.notify("modellint/unheardOf", {"a": 1})
        client.open("predict.py", FORGOTTEN)
        assert codes(client.diagnostics(client.uri("predict.py"))) == DEFECT
        reply = client.reply(client.ask("modellint/unheardOf", {}))
        assert reply["error"]["code"] == -32601

    @pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 100_000, b'{"jsonrpc": "2.0", "id": ' + b"9" * 5000 + b"}"])
    def test_bytes_that_are_no_json_are_told_so(self, client: Client, body: bytes) -> None:
        client.start()
        client.send_raw(body)
        assert client.reply(None)["error"]["code"] == -32700

    @pytest.mark.parametrize("body", [b"[]", b"5", b"null", b'{"id": 3}', b'[{"a": 1}]'])
    def test_json_that_is_no_message_is_told_so(self, client: Client, body: bytes) -> None:
        client.start()
        client.send_raw(body)
        assert client.reply(None)["error"]["code"] == -32600

    @pytest.mark.parametrize(
        ("method", "params"),
        [
            ("textDocument/hover", None),
            ("textDocument/hover", {"textDocument": {"uri": 5}}),
            ("textDocument/hover", {"textDocument": {"uri": "file:///a.py"}, "position": {"line": -1, "character": 0}}),
            ("textDocument/codeAction", {"textDocument": {"uri": "file:///a.py"}, "range": []}),
            ("textDocument/diagnostic", []),
            ("workspace/diagnostic", {"previousResultIds": 3}),
            ("codeAction/resolve", {"title": "Fix", "diagnostics": 5}),
        ],
    )
    def test_parameters_that_are_none_of_the_request_are_told_so(
        self, client: Client, method: str, params: Any
    ) -> None:
        client.start()
        error = client.reply(client.ask(method, params))["error"]
        assert error["code"] == -32602 and error["message"].startswith(f"{method}: ")

    def test_a_request_before_the_beginning_and_behind_the_end(self, client: Client) -> None:
        client.notify("textDocument/didSave", {"textDocument": {"uri": client.uri("predict.py")}})
        asked = {"textDocument": {"uri": client.uri("predict.py")}, "position": {"line": 0, "character": 0}}
        assert client.reply(client.ask("textDocument/hover", asked))["error"]["code"] == -32002
        client.start()
        client.request("shutdown", None)
        assert client.reply(client.ask("textDocument/hover", asked))["error"]["code"] == -32600
        client.notify("exit", None)
        assert client.process.wait(60) == 0

    def test_addresses_that_are_no_files(self, client: Client) -> None:
        client.start()
        for uri in ("git:/a/predict.py", "file://", "file:///%00.py", "", "no address"):
            item = {"uri": uri, "languageId": "python", "version": 1, "text": FORGOTTEN}
            client.notify("textDocument/didOpen", {"textDocument": item})
        assert codes(client.diagnostics(client.open("predict.py", FORGOTTEN))) == DEFECT

    def test_texts_that_are_none(self, client: Client) -> None:
        client.start()
        for text in ("\0", "\ud800", "# coding: nonsense\n", "# coding: latin-1\nimport torch # é €\n", "(" * 5000):
            client.diagnostics(client.open("odd.py", "import torch\n" + text))
        assert codes(client.diagnostics(client.open("predict.py", FORGOTTEN))) == DEFECT

    def test_an_enormous_file(self, client: Client) -> None:
        client.start()
        uri = client.open("huge.py", FORGOTTEN + "x = 1\n" * 100_000)
        client.change(uri, edit((50_000, 0), (50_000, 0), "y = 2\n"))
        assert codes(client.diagnostics(uri)) == DEFECT

    def test_opened_twice_closed_twice(self, client: Client) -> None:
        client.start()
        uri = client.open("predict.py", FINE)
        client.open("predict.py", FORGOTTEN, version=2)
        assert codes(client.diagnostics(uri)) == DEFECT
        client.close(uri)
        client.close(uri)
        assert codes(client.diagnostics(client.open("predict.py", FORGOTTEN, version=9))) == DEFECT


class TestConfiguration:
    def test_that_is_broken_is_told_once_and_the_previous_one_stays(self, client: Client) -> None:
        config = client.folder / ".modellint.yaml"
        config.write_text("ignore: [ML101]\n")
        (client.folder / "predict.py").write_text(FORGOTTEN)
        client.start()
        uri = client.open("predict.py", FORGOTTEN)
        assert client.diagnostics(uri) == []
        config.write_text("ignore: [ML1O1]\n")
        for _ in range(3):
            client.save(uri)
            client.replace(uri, FORGOTTEN)
            assert client.diagnostics(uri) == []
        assert len(client.messages()) == 1
        assert ".modellint.yaml:1" in client.messages()[0]
        config.write_text("ignore: []\n")
        client.save(uri)
        client.settles(uri, DEFECT)

    def test_that_is_broken_from_the_beginning(self, client: Client) -> None:
        config = client.folder / ".modellint.yaml"
        config.write_text("ignore: 7\n")
        client.start()
        uri = client.open("predict.py", FORGOTTEN)
        assert client.diagnostics(uri) == []
        client.until(client.messages)
        config.write_text("")
        client.save(uri)
        client.settles(uri, DEFECT)
        assert len(client.messages()) == 1

    def test_that_the_client_sets(self, client: Client) -> None:
        client.start(initializationOptions={"settings": {"ignore": ["ML101"]}})
        uri = client.open("predict.py", FORGOTTEN)
        assert client.diagnostics(uri) == []
        client.notify("workspace/didChangeConfiguration", {"settings": {"modellint": {"ignore": []}}})
        client.settles(uri, DEFECT)

    @pytest.mark.parametrize("settings", [{"ignore": 5}, {"selct": ["ML101"]}, {"minConfidence": "sure"}, [1]])
    def test_that_the_client_gets_wrong(self, client: Client, settings: Any) -> None:
        client.start(initializationOptions={"settings": settings})
        assert codes(client.diagnostics(client.open("predict.py", FORGOTTEN))) == DEFECT
        assert len(client.messages()) == 1

    def test_that_is_watched(self, client: Client) -> None:
        (client.folder / "predict.py").write_text(FORGOTTEN)
        client.start({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}})
        uri = client.open("predict.py", FORGOTTEN)
        assert codes(client.diagnostics(uri)) == DEFECT
        ((method, asked),) = client.asked
        assert (method, asked["registrations"][0]["method"]) == (
            "client/registerCapability",
            "workspace/didChangeWatchedFiles",
        )
        config = client.folder / ".modellint.yaml"
        config.write_text("ignore: [missing-eval]\n")
        changes = [{"uri": config.as_uri(), "type": 1}]
        client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        client.settles(uri, [])


class TestOtherFiles:
    def test_an_edit_of_the_model_changes_the_findings_of_the_script(self, client: Client) -> None:
        (client.folder / "model.py").write_text(MODEL)
        client.start()
        script = client.open("predict.py", SCRIPT)
        assert client.diagnostics(script) == []
        model = client.open("model.py", MODEL)
        client.diagnostics(model)
        client.replace(model, MODEL.replace("    net.eval()\n", ""))
        client.settles(script, DEFECT)
        client.replace(model, MODEL.replace("    net.eval()\n", "    net.(\n"))  # half-typed
        client.diagnostics(model)
        client.replace(model, MODEL)
        client.settles(script, [])

    def test_what_was_typed_and_not_saved_is_gone_with_the_buffer(self, client: Client) -> None:
        (client.folder / "model.py").write_text(MODEL)
        client.start()
        script = client.open("predict.py", SCRIPT)
        model = client.open("model.py", MODEL.replace("    net.eval()\n", ""))
        client.settles(script, DEFECT)
        client.close(model)
        client.settles(script, [])

    def test_a_file_that_another_program_wrote(self, client: Client) -> None:
        path = client.folder / "model.py"
        path.write_text(MODEL)
        client.start()
        script = client.open("predict.py", SCRIPT)
        assert client.diagnostics(script) == []
        path.write_text(MODEL.replace("    net.eval()\n", ""))
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": path.as_uri(), "type": 2}]})
        client.settles(script, DEFECT)
        path.unlink()
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": path.as_uri(), "type": 3}]})
        client.settles(script, [])

    def test_several_folders_have_their_own_configuration(self, client: Client, tmp_path: Path) -> None:
        folders = []
        for name, text in (("one", "ignore: [ML101]\n"), ("two", "")):
            folder = tmp_path / name
            folder.mkdir()
            (folder / ".modellint.yaml").write_text(text)
            folders.append({"uri": folder.as_uri(), "name": name})
        client.start(workspaceFolders=folders)
        assert client.diagnostics(client.open("one/predict.py", FORGOTTEN)) == []
        assert codes(client.diagnostics(client.open("two/predict.py", FORGOTTEN))) == DEFECT
