"""A small client: it speaks to `modellint server` in a process of its own, message by message."""

from __future__ import annotations

import itertools
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, Queue
from typing import Any

WAIT = 60.0  # seconds; a loaded machine is slow


class Client:
    """A session with a server, over a pipe or, with `port`, over a socket.

    `notes` holds every notification that came, in order.
    """

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.folder = folder
        command = [sys.executable, "-m", "modellint", "server", *(() if port is None else ("--tcp", str(port)))]
        self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._input: Any = self.process.stdin
        self._output: Any = self.process.stdout
        if port is not None:
            self._socket = _connected(port, self.process)
            self._input = self._output = self._socket.makefile("rwb")
        self.notes: list[tuple[str, Any]] = []
        self.asked: list[tuple[str, Any]] = []
        self.answers: dict[str, Callable[[Any], Any]] = {}
        self.versions: dict[str, int] = {}
        self._numbers = itertools.count(1)
        self._messages: Queue[dict[str, Any] | None] = Queue()
        self._replies: dict[int | None, dict[str, Any]] = {}
        threading.Thread(target=self._read, daemon=True).start()

    # -- messages ------------------------------------------------------------------------------------------

    def _read(self) -> None:
        stream = self._output
        while header := stream.readline():
            length = int(header.split(b":")[1])
            while stream.readline().strip():
                pass
            self._messages.put(json.loads(stream.read(length)))
        self._messages.put(None)

    def send(self, message: dict[str, Any]) -> None:
        self.send_raw(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def send_raw(self, body: bytes) -> None:
        self._input.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._input.flush()

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> int:
        number = next(self._numbers)
        self.send({"id": number, "method": method, "params": params})
        return number

    def request(self, method: str, params: Any) -> Any:
        reply = self.reply(self.ask(method, params))
        assert "error" not in reply, reply
        return reply.get("result")

    def reply(self, number: int | None) -> dict[str, Any]:
        self.until(lambda: number in self._replies)
        return self._replies.pop(number)

    def until(self, done: Callable[[], Any], wait: float = WAIT) -> Any:
        end = time.monotonic() + wait
        while not (found := done()):
            try:
                message = self._messages.get(timeout=max(0.01, end - time.monotonic()))
            except Empty:
                raise AssertionError(f"no answer; the last messages: {self.notes[-5:]}") from None
            assert message is not None, f"the server is gone: {self.process.wait()}"
            self._take(message)
        return found

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            self._replies[message["id"]] = message
        elif "id" in message:
            self.asked.append((message["method"], message.get("params")))
            answer = self.answers.get(message["method"], lambda params: None)
            self.send({"id": message["id"], "result": answer(message.get("params"))})
        else:
            self.notes.append((message["method"], message["params"]))

    # -- what an editor does -------------------------------------------------------------------------------

    def start(self, capabilities: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        params = {
            "processId": None,
            "rootUri": self.folder.as_uri(),
            "workspaceFolders": [{"uri": self.folder.as_uri(), "name": "it"}],
            "capabilities": capabilities or {},
            **more,
        }
        result: dict[str, Any] = self.request("initialize", params)
        self.notify("initialized", {})
        return result

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str, language: str = "python", version: int = 1) -> str:
        uri = self.uri(name) if ":" not in name else name
        self.versions[uri] = version
        item = {"uri": uri, "languageId": language, "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    def change(self, uri: str, *changes: dict[str, Any], version: int | None = None) -> int:
        number = self.versions[uri] = self.versions.get(uri, 0) + 1 if version is None else version
        params = {"textDocument": {"uri": uri, "version": number}, "contentChanges": list(changes)}
        self.notify("textDocument/didChange", params)
        return number

    def replace(self, uri: str, text: str) -> int:
        return self.change(uri, {"text": text})

    def save(self, uri: str) -> None:
        self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def close(self, uri: str) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def published(self, uri: str) -> list[dict[str, Any]]:
        """Return everything that was published for `uri`, in order."""
        return [p for m, p in self.notes if m == "textDocument/publishDiagnostics" and p["uri"] == uri]

    def diagnostics(self, uri: str, version: int | None = None) -> list[dict[str, Any]]:
        """Return the diagnostics of the newest version, or of `version`, once they are there."""
        number = self.versions.get(uri, 1) if version is None else version
        found = self.until(lambda: [p for p in self.published(uri) if p.get("version") == number])
        items: list[dict[str, Any]] = found[-1]["diagnostics"]
        return items

    def settles(self, uri: str, codes: Sequence[str]) -> None:
        """Wait until the last diagnostics of `uri` have exactly these codes."""
        self.until(lambda: (p := self.published(uri)) and [d["code"] for d in p[-1]["diagnostics"]] == list(codes))

    def messages(self) -> list[str]:
        return [params["message"] for method, params in self.notes if method == "window/showMessage"]

    def hang_up(self) -> None:
        """Go without a word, over a socket."""
        self._socket.shutdown(socket.SHUT_RDWR)

    def stop(self) -> int:
        """Shut the server down as the protocol wants it; return its exit status."""
        if self.process.poll() is None:
            self.request("shutdown", None)
            self.notify("exit", None)
        return self.process.wait(WAIT)


def _connected(port: int, process: subprocess.Popen[bytes]) -> socket.socket:
    """Return a socket to the server, once it listens."""
    end = time.monotonic() + WAIT
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), WAIT)
        except OSError:
            assert process.poll() is None and time.monotonic() < end, "nobody listens"
            time.sleep(0.05)


def edit(start: tuple[int, int], end: tuple[int, int], text: str) -> dict[str, Any]:
    """Return an incremental change."""
    places = [{"line": line, "character": character} for line, character in (start, end)]
    return {"range": {"start": places[0], "end": places[1]}, "text": text}


def essence(items: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return what two front ends have to agree on."""
    return [
        (
            d["code"],
            d["message"],
            d["severity"],
            *(d["range"][e][k] for e in ("start", "end") for k in ("line", "character")),
        )
        for d in items
    ]


def checked(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return what `modellint check` says in `folder`, by address."""
    command = [sys.executable, "-m", "modellint", "check", "--no-cache", "--output-format", "lsp"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode in (0, 1), run.stderr
    lines = (json.loads(line) for line in run.stdout.splitlines())
    return {line["uri"]: essence(line["diagnostics"]) for line in lines}
