"""Sessions of everything that a client can send about a workspace of two folders, and of what no client should send.

At the end the editor shows what `modellint check` prints in each folder.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.server.client import Client, edit, essence
from tests.server.programs import FINE, FORGOTTEN, MODEL, SCRIPT

BAD_MODEL = MODEL.replace("    net.eval()\n", "")
ASTRAL = "# '😀' 🐍\r\n" + FORGOTTEN.replace("model(batch)", "model(batch), '😀'").replace("\n", "\r\n")
TEXTS = {
    "one/model.py": (MODEL, BAD_MODEL),
    "one/predict.py": (SCRIPT, SCRIPT.replace("@torch.no_grad()\n", ""), ASTRAL, FORGOTTEN + "x = 1\n" * 3000),
    "two/model.py": (BAD_MODEL, MODEL),
    "two/predict.py": (
        SCRIPT,
        FINE,
        FORGOTTEN + "\ndef unfinished(\n",
        "from zoo import load\n\n\ndef predict(x):\n    return load()(x)\n",
    ),
    "two/old/kept.py": (FORGOTTEN, FINE),
}
NOTEBOOK = "one/a.ipynb"
CELLS = (
    "# A title",
    "%matplotlib inline\nimport torch\nimport torchvision",
    FORGOTTEN.partition("\n\n\n")[2],
    "'😀' (",
)
CONFIGURATIONS = (
    "",
    "ignore: [ML101]\n",
    "exclude: [old]\n",
    "local-rules: [house.yaml]\n",
    "ignore: [no-such-rule]\n",
    "{",
)
RULE = """\
code: ACME001
name: house-loader
family: local
severity: error
summary: A model from the house's zoo, where it predicts.
message: "`{call}` returns the model in training mode"
what-it-does: Reports loaders of the house.
why-is-this-bad: Dropout stays on.
runs-on: python
triggers: [zoo, load]
detect:
  pattern: {call: [zoo.load, model.load]}
examples:
  good:
    - {title: None, code: "x = 1"}
  bad:
    - title: One
      code: |
        from zoo import load

        load()  # finding
"""
RULES = (RULE, RULE.replace("zoo.load, ", ""), RULE.replace("family: local\n", ""))
SETTINGS: tuple[Any, ...] = ({}, {"ignore": ["ML201"]}, {"select": ["no-such-rule"]}, {"nonsense": 1}, 5)
PIECES = ("", "\n", "model.eval()\n", "import (", "\r\n", "é😀", "    ", "# modellint: ignore[ML101]", "'''", "x = 1\n")
JUNK: tuple[Any, ...] = (None, -1, 10**12, "", "no address", [], {}, True, 1.5, "\ud800", [[[]]], "git:/a.py")


class Session:
    """A client that does at random what editors do, and knows what is open."""

    def __init__(self, client: Client, seed: int, pulls: bool) -> None:
        self.client = client
        self.dice = random.Random(seed)
        self.pulls = pulls
        self.opened: set[str] = set()
        self.cells: list[str] = []
        self.numbers: dict[str, int] = {}
        self.number = 0
        for name, texts in TEXTS.items():
            path = client.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(texts[0].encode())
        for folder in ("one", "two"):
            (client.folder / folder / "pyproject.toml").write_text("[project]\nname = 'it'\n")
        capabilities: dict[str, Any] = {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}
        if pulls:
            capabilities["textDocument"] = {"diagnostic": {}}
        client.start(capabilities, workspaceFolders=[self.folder("one"), self.folder("two")], rootUri=None)

    def folder(self, name: str) -> dict[str, str]:
        return {"uri": self.client.uri(name), "name": name}

    def watched(self, name: str, kind: int = 2) -> None:
        changes = [{"uri": self.client.uri(name), "type": kind}]
        self.client.notify("workspace/didChangeWatchedFiles", {"changes": changes})

    def place(self) -> tuple[int, int]:
        return self.dice.choice([(self.dice.randrange(25), self.dice.randrange(60)), (10**6, 0), (0, 0)])

    # -- what editors do -----------------------------------------------------------------------------------

    def open(self, name: str) -> None:
        self.client.open(name, self.dice.choice(TEXTS[name]), version=self.dice.randrange(5))
        self.opened.add(name)

    def close(self, name: str) -> None:
        self.client.close(self.client.uri(name))
        self.opened.discard(name)

    def type(self, name: str) -> None:
        changes = [edit(self.place(), self.place(), self.dice.choice(PIECES)) for _ in range(self.dice.randrange(1, 4))]
        self.client.change(self.client.uri(name), *changes, version=self.dice.choice([None, None, 0, 10**6]))

    def replace(self, name: str) -> None:
        self.client.replace(self.client.uri(name), self.dice.choice(TEXTS[name]))

    def save(self, name: str) -> None:
        self.client.save(self.client.uri(name))

    def write(self, name: str) -> None:
        (self.client.folder / name).write_bytes(self.dice.choice(TEXTS[name]).encode())
        self.watched(name, self.dice.choice([1, 2]))

    def delete(self, name: str) -> None:
        (self.client.folder / name).unlink(missing_ok=True)
        self.watched(name, 3)

    def rename(self, name: str) -> None:
        path = self.client.folder / name
        if path.exists():
            path.rename(path.with_name("renamed.py"))
            old, new = self.client.uri(name), path.with_name("renamed.py").as_uri()
            self.client.notify("workspace/didRenameFiles", {"files": [{"oldUri": old, "newUri": new}]})
            changes = [{"uri": old, "type": 3}, {"uri": new, "type": 1}]
            self.client.notify("workspace/didChangeWatchedFiles", {"changes": changes})

    def configure(self, name: str) -> None:
        folder = name.partition("/")[0]
        (self.client.folder / folder / ".modellint.yaml").write_text(self.dice.choice(CONFIGURATIONS))
        (self.client.folder / folder / "house.yaml").write_text(self.dice.choice(RULES))
        self.watched(f"{folder}/{self.dice.choice(['.modellint.yaml', 'house.yaml'])}")

    def set(self, name: str) -> None:
        settings = {"modellint": self.dice.choice(SETTINGS)}
        self.client.notify("workspace/didChangeConfiguration", {"settings": settings})

    def leave(self, name: str) -> None:
        event = {"added": [], "removed": [self.folder("two")]}
        self.client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        if self.dice.random() < 0.8:
            self.come_back()

    def come_back(self) -> None:
        event = {"added": [self.folder("two")], "removed": []}
        self.client.notify("workspace/didChangeWorkspaceFolders", {"event": event})

    def ask(self, name: str) -> None:
        spot = dict(zip(("line", "character"), self.place(), strict=True))
        document = {"textDocument": {"uri": self.client.uri(name)}}
        extent = {"range": {"start": spot, "end": spot}, "context": {"diagnostics": []}}
        self.client.ask("textDocument/hover", {**document, "position": spot})
        self.client.ask("workspace/diagnostic", {"previousResultIds": []})
        number = self.client.ask("textDocument/codeAction", {**document, **extent})
        if self.dice.random() < 0.5:
            self.client.notify("$/cancelRequest", {"id": number})

    # -- a notebook ----------------------------------------------------------------------------------------

    def notebook(self, name: str) -> None:
        uri = self.client.uri(NOTEBOOK)
        if not self.cells or self.dice.random() < 0.1:
            self.cells = []
            cells, texts = self.fresh(3)
            document = {"uri": uri, "notebookType": "jupyter-notebook", "version": 1, "cells": cells}
            self.client.notify("notebookDocument/didOpen", {"notebookDocument": document, "cellTextDocuments": texts})
            self.cells = [cell["document"] for cell in cells]
        elif self.dice.random() < 0.5:
            cell = self.dice.choice(self.cells)
            changes = [edit(self.place(), self.place(), self.dice.choice(PIECES))]
            text = {"document": {"uri": cell, "version": self.dice.randrange(9)}, "changes": changes}
            self.changed({"textContent": [text]})
        else:
            start, gone = self.dice.randrange(len(self.cells)), self.dice.randrange(2)
            self.splice(start, gone, *self.fresh(self.dice.randrange(2)))

    def fresh(self, number: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return cells, and their texts."""
        cells, texts = [], []
        for text in self.dice.choices(CELLS, k=number):
            self.number += 1
            uri = f"{self.client.uri(NOTEBOOK)}#{self.number}"
            cells.append({"kind": 1 if text.startswith("# A") else 2, "document": uri})
            texts.append({"uri": uri, "languageId": "python", "version": 1, "text": text})
        return cells, texts

    def splice(self, start: int, gone: int, cells: list[Any], texts: list[Any]) -> None:
        array = {"start": start, "deleteCount": gone, "cells": cells}
        self.cells[start : start + gone] = [cell["document"] for cell in cells]
        self.changed({"structure": {"array": array, "didOpen": texts}})

    def changed(self, cells: dict[str, Any]) -> None:
        document = {"uri": self.client.uri(NOTEBOOK), "version": 2}
        self.client.notify("notebookDocument/didChange", {"notebookDocument": document, "change": {"cells": cells}})

    # -- what nobody should --------------------------------------------------------------------------------

    def garble(self, name: str) -> None:
        """Send a message about a file of its own with something in it that does not belong there."""
        uri = self.client.uri("one/ghost.py")
        text = {"uri": uri, "languageId": "python", "version": 1, "text": "x"}
        change = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "y"}]}
        spot = {"line": 1, "character": 1}
        method, params = self.dice.choice(
            [
                ("textDocument/didOpen", {"textDocument": text}),
                ("textDocument/didChange", change),
                ("textDocument/didSave", {"textDocument": {"uri": uri}}),
                ("textDocument/hover", {"textDocument": {"uri": uri}, "position": spot}),
                ("workspace/executeCommand", {"command": "modellint.nothing", "arguments": [1]}),
                ("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]}),
                ("codeAction/resolve", {"title": "x", "data": {"uri": uri}}),
                ("textDocument/diagnostic", {"textDocument": {"uri": uri}, "identifier": "x"}),
                ("notebookDocument/didSave", {"notebookDocument": {"uri": uri}}),
                ("$/setTrace", {"value": "off"}),
                ("modellint/unheardOf", {"a": 1}),
            ]
        )
        message: dict[str, Any] = {"method": method, "params": json.loads(json.dumps(params))}
        if self.dice.random() < 0.5:
            message["id"] = 10_000 + self.dice.randrange(10**6)
        inside: Any = message["params"]
        while isinstance(inside, dict | list) and inside:
            keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
            key = self.dice.choice(keys)
            if self.dice.random() < 0.4 or not isinstance(inside[key], dict | list):
                inside[key] = self.dice.choice(JUNK)
                break
            inside = inside[key]
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.client.send_raw(body[: self.dice.choice([len(body), len(body), len(body) - 3])])

    # -- the end -------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Bring editor and disk to the same state."""
        folder = self.client.folder
        self.come_back()
        self.client.close(self.client.uri("one/ghost.py"))
        self.client.notify("workspace/didChangeConfiguration", {"settings": {"modellint": {}}})
        for name in ("one", "two"):
            (folder / name / ".modellint.yaml").write_text(self.dice.choice(CONFIGURATIONS[:4]))
            (folder / name / "house.yaml").write_text(self.dice.choice(RULES[:2]))
            (folder / name / "renamed.py").unlink(missing_ok=True)
            for file in (".modellint.yaml", "house.yaml", "renamed.py"):
                self.watched(f"{name}/{file}", 3 if file == "renamed.py" else 2)
        for name, texts in TEXTS.items():
            final = self.dice.choice(texts)
            (folder / name).write_bytes(final.encode())
            if name in self.opened:
                self.client.change(self.client.uri(name), {"text": final}, version=10**7)
            self.watched(name, 1)
            self.save(name)
        if self.cells:
            cells, texts = self.fresh(4)
            self.splice(0, len(self.cells), cells, texts)
            kinds = {cell["document"]: "code" if cell["kind"] == 2 else "markdown" for cell in cells}
            sources = [{"cell_type": kinds[text["uri"]], "source": text["text"]} for text in texts]
            (folder / NOTEBOOK).write_text(json.dumps({"cells": sources, "metadata": {}}))
            self.numbers = {cell["document"]: n for n, cell in enumerate(cells, 1) if cell["kind"] == 2}
            self.watched(NOTEBOOK, 1)

    def wanted(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return what `check` finds in both folders, by address; of a notebook, by the address of the cell."""
        found: dict[str, list[tuple[Any, ...]]] = {}
        for name in ("one", "two"):
            for uri, items in _checked(self.client.folder / name).items():
                if uri.endswith(".ipynb"):
                    for cell, number in self.numbers.items():
                        found[cell] = essence([item for item in items if item["data"]["cell"] == number])
                else:
                    found[uri] = essence(items)
        return found

    def shown(self, uri: str) -> list[tuple[Any, ...]] | None:
        if self.pulls:
            report = self.client.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
            return essence(report["items"])
        published = self.client.published(uri)
        return essence(published[-1]["diagnostics"]) if published else None


def _checked(folder: Path) -> dict[str, list[dict[str, Any]]]:
    command = [sys.executable, "-m", "modellint", "check", "--no-cache", "--output-format", "lsp"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode in (0, 1), run.stderr
    return {line["uri"]: line["diagnostics"] for line in map(json.loads, run.stdout.splitlines())}


@pytest.mark.slow
@pytest.mark.parametrize("pulls", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_end_is_what_check_finds(client: Client, seed: int, pulls: bool) -> None:
    session = Session(client, seed, pulls)
    steps = [session.open, session.open, session.close, session.type, session.type, session.replace, session.save]
    steps += [session.write, session.delete, session.rename, session.configure, session.set, session.leave]
    steps += [session.ask, session.notebook, session.notebook, session.garble, session.garble]
    for _ in range(150):
        session.dice.choice(steps)(session.dice.choice(list(TEXTS)))
    session.settle()
    wanted = session.wanted()
    assert any(wanted.values())
    opened = [client.uri(name) for name in session.opened]
    for uri in (*opened, *session.numbers):
        # a file that `check` leaves out has no findings in the editor
        client.until(lambda uri=uri: session.shown(uri) == wanted.get(uri, []))
