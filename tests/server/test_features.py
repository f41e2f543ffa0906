"""Quick fixes, suppressions, hovers, pulled diagnostics, notebooks."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.server.client import Client, checked, edit, essence
from tests.server.programs import DEFECT, FINE, FORGOTTEN, MODEL, SCRIPT

SAFE = "import torch\n\nmodel = torch.nn.Linear(2, 2)\nmodel.eval\n"  # ML102, whose fix is safe
PULLS = {"textDocument": {"diagnostic": {}}, "workspace": {"diagnostics": {"refreshSupport": True}}}


def applied(text: str, edits: list[dict[str, Any]]) -> str:
    """Return an ASCII text after the edits of a client."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(place: dict[str, int]) -> int:
        return min(starts[min(place["line"], len(starts) - 1)] + place["character"], len(text))

    for item in sorted(edits, key=lambda item: offset(item["range"]["start"]), reverse=True):
        start, end = (offset(item["range"][name]) for name in ("start", "end"))
        text = text[:start] + item["newText"] + text[end:]
    return text


def actions(client: Client, uri: str, line: int, only: list[str] | None = None) -> list[dict[str, Any]]:
    place = {"line": line, "character": 12}
    context = {"diagnostics": [], **({"only": only} if only else {})}
    params = {"textDocument": {"uri": uri}, "range": {"start": place, "end": place}, "context": context}
    found: list[dict[str, Any]] = client.request("textDocument/codeAction", params)
    return found


def hover(client: Client, uri: str, line: int, character: int) -> str | None:
    place = {"line": line, "character": character}
    found = client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": place})
    return found and str(found["contents"]["value"])


class TestActions:
    def test_nothing_is_offered_where_nothing_is_found(self, client: Client) -> None:
        client.start()
        uri = client.open("predict.py", FORGOTTEN)
        assert actions(client, uri, 1) == []
        assert actions(client, client.uri("closed.py"), 1) == []
        assert actions(client, uri, 7, ["refactor"]) == []

    def test_a_fix_is_the_one_of_check(self, client: Client) -> None:
        (client.folder / "predict.py").write_text(FORGOTTEN)
        client.start()
        uri = client.open("predict.py", FORGOTTEN)
        fix, silence = actions(client, uri, 7)
        assert fix["title"].startswith("ML101: ") and fix["title"].endswith("(unsafe: changes behaviour)")
        assert "isPreferred" not in fix
        command = [sys.executable, "-m", "modellint", "check", "--fix", "--unsafe-fixes", "predict.py"]
        subprocess.run(command, cwd=client.folder, check=True, capture_output=True)
        assert (
            applied(FORGOTTEN, fix["edit"]["changes"][uri]) == (client.folder / "predict.py").read_text() != FORGOTTEN
        )
        assert silence["title"] == "Suppress ML101 (missing-eval) on this line"

    def test_a_suppression_silences(self, client: Client) -> None:
        client.start()
        for text in (FORGOTTEN, FORGOTTEN.replace("dim=1)", "dim=1)  # noqa"), FORGOTTEN.replace("(dim", "(\n  dim")):
            uri = client.open("predict.py", text.replace("# noqa", "# why"))
            client.diagnostics(uri)
            (edits,) = [a["edit"]["changes"][uri] for a in actions(client, uri, 7) if a["title"].startswith("Supp")]
            silent = applied(text.replace("# noqa", "# why"), edits)
            assert "modellint: ignore[ML101]" in silent
            client.replace(uri, silent)
            assert client.diagnostics(uri) == []

    def test_a_suppression_joins_the_one_that_is_there(self, client: Client) -> None:
        client.start()
        text = FORGOTTEN.replace("@torch.no_grad()\n", "").replace("dim=1)", "dim=1)  # modellint: ignore[ML201]")
        uri = client.open("predict.py", text)
        (edits,) = [a["edit"]["changes"][uri] for a in actions(client, uri, 6) if a["title"].startswith("Suppress")]
        assert "ignore[ML201, ML101]" in applied(text, edits)

    def test_safe_fixes_are_preferred_and_come_all_at_once(self, client: Client) -> None:
        client.start({"workspace": {"workspaceEdit": {"documentChanges": True}}})
        text = SAFE.replace("\n", "\r\n") + "model.eval\r\n"
        uri = client.open("a.py", text)
        (fix,) = [a for a in actions(client, uri, 3) if a["title"].startswith("ML102")]
        assert fix["isPreferred"] is True
        (change,) = fix["edit"]["documentChanges"]
        assert change["textDocument"] == {"uri": uri, "version": 1}
        (everything,) = actions(client, uri, 0, ["source.fixAll"])
        assert everything["kind"] == "source.fixAll.modellint"
        (change,) = everything["edit"]["documentChanges"]
        assert applied(text, change["edits"]) == text.replace("model.eval\r", "model.eval()\r")

    def test_fixing_all_waits_until_it_is_chosen(self, client: Client) -> None:
        client.start({"textDocument": {"codeAction": {"resolveSupport": {"properties": ["edit"]}}}})
        uri = client.open("a.py", SAFE)
        (action,) = actions(client, uri, 0, ["source"])
        assert "edit" not in action
        done = client.request("codeAction/resolve", action)
        assert applied(SAFE, done["edit"]["changes"][uri]) == SAFE.replace("eval\n", "eval()\n")

    def test_unsafe_fixes_are_not_among_all(self, client: Client) -> None:
        client.start()
        uri = client.open("predict.py", FORGOTTEN)
        assert actions(client, uri, 0, ["source.fixAll.modellint"]) == []


class TestHover:
    def test_shows_nothing_on_ordinary_code(self, client: Client) -> None:
        client.start()
        uri = client.open("predict.py", FORGOTTEN)
        assert hover(client, uri, 0, 2) is None
        assert hover(client, uri, 10**6, 10**6) is None
        assert hover(client, client.uri("closed.py"), 0, 0) is None

    def test_shows_the_rule_of_a_finding(self, client: Client) -> None:
        client.start()
        text = hover(client, client.open("predict.py", FORGOTTEN), 7, 13)
        assert text is not None and text.startswith("**ML101** `missing-eval` (error): ")
        assert "#### Why is this bad?" in text

    def test_shows_the_rule_that_a_comment_silences(self, client: Client) -> None:
        client.start()
        text = "import torch\nx = 1  # modellint: ignore[ML203, missing-eval]\n"
        uri = client.open("a.py", text)
        found = hover(client, uri, 1, text.splitlines()[1].index("ML203") + 2) or ""
        assert "**ML203**" in found and "**ML101**" not in found
        found = hover(client, uri, 1, 10) or ""
        assert "**ML203**" in found and "**ML101**" in found


class TestPulling:
    def test_a_client_that_pulls_is_not_pushed_to(self, client: Client) -> None:
        client.start(PULLS)
        uri = client.open("predict.py", FORGOTTEN)
        report = client.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        assert (report["kind"], [d["code"] for d in report["items"]]) == ("full", DEFECT)
        again = client.request(
            "textDocument/diagnostic", {"textDocument": {"uri": uri}, "previousResultId": report["resultId"]}
        )
        assert again == {"kind": "unchanged", "resultId": report["resultId"]}
        assert client.published(uri) == []

    def test_answers_hold_for_the_newest_text(self, client: Client) -> None:
        client.start(PULLS)
        uri = client.open("predict.py", FINE)
        asked = []
        for number in range(20):
            client.replace(uri, FORGOTTEN if number % 2 else FINE)
            asked.append(client.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}}))
        for number in asked[::2]:
            client.notify("$/cancelRequest", {"id": number})
        assert [d["code"] for d in client.reply(asked[-1])["result"]["items"]] == DEFECT

    def test_the_workspace_is_what_check_finds(self, client: Client) -> None:
        (client.folder / "model.py").write_text(MODEL.replace("    net.eval()\n", ""))
        (client.folder / "predict.py").write_text(SCRIPT)
        (client.folder / "fine.py").write_text(FINE)
        client.start(PULLS)
        client.open("fine.py", FORGOTTEN)
        (client.folder / "fine.py").write_text(FORGOTTEN)
        report = client.request("workspace/diagnostic", {"previousResultIds": []})
        assert {item["uri"]: essence(item["items"]) for item in report["items"]} == checked(client.folder)
        known = [{"uri": item["uri"], "value": item["resultId"]} for item in report["items"]]
        again = client.request("workspace/diagnostic", {"previousResultIds": known})
        assert {item["kind"] for item in again["items"]} == {"unchanged"}

    def test_the_client_is_asked_to_pull_again_when_another_file_changes_what_is_found(self, client: Client) -> None:
        (client.folder / "model.py").write_text(MODEL)
        client.start(PULLS)
        script = client.open("predict.py", SCRIPT)
        params = {"textDocument": {"uri": script}}
        assert client.request("textDocument/diagnostic", params)["items"] == []
        client.open("model.py", MODEL.replace("    net.eval()\n", ""))
        client.until(lambda: [m for m, _ in client.asked if m == "workspace/diagnostic/refresh"])
        assert [d["code"] for d in client.request("textDocument/diagnostic", params)["items"]] == DEFECT


class TestNotebooks:
    CELLS = ("# A title", "%matplotlib inline\nimport torch\nimport torchvision", FORGOTTEN.partition("\n\n\n")[2])

    def open(self, client: Client, *cells: str) -> str:
        uri = client.uri("a.ipynb")
        items = [{"kind": 1 if c.startswith("# A") else 2, "document": f"{uri}#{n}"} for n, c in enumerate(cells)]
        texts = [{"uri": f"{uri}#{n}", "languageId": "python", "version": 1, "text": c} for n, c in enumerate(cells)]
        notebook = {"uri": uri, "notebookType": "jupyter-notebook", "version": 1, "cells": items}
        client.notify("notebookDocument/didOpen", {"notebookDocument": notebook, "cellTextDocuments": texts})
        return uri

    def change(self, client: Client, uri: str, **cells: Any) -> None:
        document = {"uri": uri, "version": 2}
        client.notify("notebookDocument/didChange", {"notebookDocument": document, "change": {"cells": cells}})

    def test_a_finding_stands_in_its_cell(self, client: Client) -> None:
        cells = [{"cell_type": "markdown" if c.startswith("# A") else "code", "source": c} for c in self.CELLS]
        (client.folder / "a.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}}))
        client.start()
        uri = self.open(client, *self.CELLS)
        (found,) = client.diagnostics(f"{uri}#2", 1)
        assert client.diagnostics(f"{uri}#1", 1) == []
        assert essence([found]) == checked(client.folder)[uri]
        assert found["relatedInformation"][0]["location"]["uri"] == f"{uri}#2"

    def test_cells_of_text_count(self, client: Client) -> None:
        client.start()
        uri = self.open(
            client, "# A title", self.CELLS[1], "# A text", self.CELLS[2] + "\n\ntorch.nn.Linear(2, 2).eval"
        )
        found = {d["code"]: d for d in client.diagnostics(f"{uri}#3", 1)}
        assert {d["data"]["cell"] for d in found.values()} == {4}
        related = found["ML101"]["relatedInformation"][0]
        assert (related["location"]["uri"], related["message"][-9:]) == (f"{uri}#3", " (cell 4)")
        (fix, _) = actions(client, f"{uri}#3", 3)
        assert list(fix["edit"]["changes"]) == [f"{uri}#3"]
        (everything,) = actions(client, f"{uri}#3", 0, ["source.fixAll"])
        assert [e["newText"] for e in everything["edit"]["changes"][f"{uri}#3"]] == ["()"]
        assert (hover(client, f"{uri}#3", 3, 13) or "").startswith("**ML101**")
        array = {"start": 2, "deleteCount": 1}
        self.change(client, uri, structure={"array": array, "didClose": [{"uri": f"{uri}#2"}]})
        client.until(lambda: {d["data"]["cell"] for d in client.published(f"{uri}#3")[-1]["diagnostics"]} == {3})

    def test_cells_are_edited_moved_and_removed(self, client: Client) -> None:
        client.start()
        uri = self.open(client, *self.CELLS)
        assert [d["code"] for d in client.diagnostics(f"{uri}#2", 1)] == DEFECT
        change = edit((3, 0), (3, 0), "    model.eval()\n")
        self.change(client, uri, textContent=[{"document": {"uri": f"{uri}#2", "version": 2}, "changes": [change]}])
        assert client.diagnostics(f"{uri}#2", 2) == []
        added = {"uri": f"{uri}#9", "languageId": "python", "version": 1, "text": "import ("}
        array = {"start": 1, "deleteCount": 0, "cells": [{"kind": 2, "document": f"{uri}#9"}]}
        self.change(client, uri, structure={"array": array, "didOpen": [added]})
        client.settles(f"{uri}#9", ["ML002"])
        array = {"start": 1, "deleteCount": 1}
        self.change(client, uri, structure={"array": array, "didClose": [{"uri": f"{uri}#9"}]})
        client.settles(f"{uri}#9", [])

    def test_a_fix_changes_the_cell(self, client: Client) -> None:
        client.start()
        uri = self.open(client, *self.CELLS)
        fix, silence = actions(client, f"{uri}#2", 3)
        for action, word in ((fix, "model.eval()"), (silence, "# modellint: ignore[ML101]")):
            assert word in applied(self.CELLS[2], action["edit"]["changes"][f"{uri}#2"])

    def test_a_change_of_a_closed_notebook(self, client: Client) -> None:
        client.start()
        uri = self.open(client, *self.CELLS)
        client.diagnostics(f"{uri}#2", 1)
        client.notify("notebookDocument/didClose", {"notebookDocument": {"uri": uri}, "cellTextDocuments": []})
        client.settles(f"{uri}#2", [])
        self.change(client, uri, structure={"array": {"start": 9, "deleteCount": 9}})
        assert [d["code"] for d in client.diagnostics(client.open("predict.py", FORGOTTEN))] == DEFECT
