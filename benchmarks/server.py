"""How long after a keystroke its findings are there, beside `ruff server` on the same edits; and what memory does.

    python benchmarks/server.py [--edits 200] [--memory-edits 1000] [--files 300] [--lines 1000]

A project of small model files and one script that runs inference with many of them is written to a temporary folder.
Each edit of the script is sent when the findings of the one before have come; a latency is the time from `didChange` to
the `publishDiagnostics` of its version. Both servers get the same edits in turn: a busy machine slows both. The
processor time that an edit costs, the work in the pauses included, is less moved by what else runs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MODEL = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)
        self.last = nn.Linear(width, 2)

    def forward(self, x):
        return self.last(self.drop(self.first(x)))


def build(path, device="cpu"):
    model = Net()
    model.load_state_dict(torch.load(path, map_location=device, weights_only=True))
    return model.to(device)
"""
FUNCTION = """

def predict_{number}(path, loader):
    model = build_{model}(path)
{mode}    outputs = []
    with torch.no_grad():
        for batch in loader:
            logits = model(batch)
            outputs.append(logits.argmax(dim=1))
    total = 0
    for item in outputs:
        total += item.numel()
    print("predicted", total, "samples with", {number})
    return outputs
"""
COMMANDS = {
    "modellint": [sys.executable, "-m", "modellint", "server"],
    "ruff": [sys.executable, "-m", "ruff", "server"],
}
TYPED = ("# note\n", "x = 1\n", "def unfinished(\n", "value = [1, 2, 3]\n")  # what is typed behind a function, in turn


def write_project(root: Path, files: int, lines: int) -> str:
    """Write `files` modules and a script of about `lines` lines below `root`; return the script."""
    (root / "pyproject.toml").write_text("[project]\nname = 'benchmark'\n")
    package = root / "models"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for number in range(files - 2):
        (package / f"model{number}.py").write_text(MODEL)
    script = "import torch\n" + "".join(f"from models.model{n} import build as build_{n}\n" for n in range(20))
    number = 0
    while script.count("\n") < lines:
        mode = "" if number % 10 == 0 else "    model.eval()\n"
        script += FUNCTION.format(number=number, model=number % 20, mode=mode)
        number += 1
    (root / "predict.py").write_text(script)
    return script


class Server:
    """A session with a language server; messages are read when they are waited for."""

    def __init__(self, name: str, root: Path, script: str) -> None:
        self.process = subprocess.Popen(
            COMMANDS[name], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.uri = (root / "predict.py").as_uri()
        self.version = 1
        folders = [{"uri": root.as_uri(), "name": "it"}]
        params = {"processId": None, "rootUri": root.as_uri(), "workspaceFolders": folders, "capabilities": {}}
        self._send({"id": 1, "method": "initialize", "params": params})
        self._wait(lambda message: message.get("id") == 1)
        self._send({"method": "initialized", "params": {}})
        item = {"uri": self.uri, "languageId": "python", "version": 1, "text": script}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": item}})
        self._published()

    def edit(self, line: int, removed: int, text: str) -> float:
        """Replace `removed` lines by `text`; return the seconds until the findings came."""
        self.version += 1
        extent = {"start": {"line": line, "character": 0}, "end": {"line": line + removed, "character": 0}}
        document = {"uri": self.uri, "version": self.version}
        params = {"textDocument": document, "contentChanges": [{"range": extent, "text": text}]}
        start = time.perf_counter()
        self._send({"method": "textDocument/didChange", "params": params})
        self._published()
        return time.perf_counter() - start

    def memory(self) -> int:
        """Return the resident set in KiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0])

    def processor(self) -> float:
        """Return the seconds of processor time that it has taken so far, all threads together."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()

    def _published(self) -> None:
        self._wait(
            lambda message: (
                message.get("method") == "textDocument/publishDiagnostics"
                and message["params"]["uri"] == self.uri
                and message["params"].get("version") == self.version
            )
        )

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def _wait(self, wanted: Any) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while header := stream.readline().strip():
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            if not length:
                raise SystemExit("the server is gone")
            message = json.loads(stream.read(length))
            if "method" in message and "id" in message:
                self._send({"id": message["id"], "result": None})
            if wanted(message):
                return


def edits(script: str, number: int) -> list[tuple[int, int, str]]:
    """Return `number` edits (line, lines removed, text): a line is typed behind a function, then taken out again."""
    places = [row for row, line in enumerate(script.splitlines()) if line.startswith("def ")]
    made: list[tuple[int, int, str]] = []
    while len(made) < number:
        line, text = places[len(made) * 7 % len(places)], TYPED[len(made) // 2 % len(TYPED)]
        made += [(line, 0, text), (line, 1, "")]
    return made[:number]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for option, default in (("edits", 200), ("memory-edits", 1000), ("files", 300), ("lines", 1000)):
        parser.add_argument(f"--{option}", type=int, default=default)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        script = write_project(root, options.files, options.lines)
        servers = {name: Server(name, root, script) for name in COMMANDS}
        taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
        started = {name: server.processor() for name, server in servers.items()}
        for edit in edits(script, options.edits):
            for name, server in servers.items():
                taken[name].append(server.edit(*edit) * 1000)
        print(f"{options.edits} edits of {script.count(chr(10)):,} lines, {options.files} files")
        for name, times in taken.items():
            last = statistics.quantiles(times, n=20)[-1]
            busy = (servers[name].processor() - started[name]) / len(times) * 1000
            print(
                f"{name:<10} median {statistics.median(times):7.1f} ms   95th percentile {last:7.1f} ms   "
                f"processor time an edit {busy:6.1f} ms"
            )
        ratio = statistics.median(taken["modellint"]) / statistics.median(taken["ruff"])
        print(f"modellint takes {ratio:.1f} times as long as ruff, by the median")
        server = servers["modellint"]
        before = server.memory()
        for edit in edits(script, options.memory_edits):
            server.edit(*edit)
        after = server.memory()
        print(f"memory {before / 1024:.0f} MiB, after {options.memory_edits:,} more edits {after / 1024:.0f} MiB")
        for server in servers.values():
            server.stop()


if __name__ == "__main__":
    main()
