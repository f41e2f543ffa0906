"""The parent's side: give jobs to child processes, hold them to their time, and tell how each one ended."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modellint.runtime.process.reply import Listener, Reply

_BOOT = (
    "import sys; sys.path[:1] = [] if sys.path[:1] == [''] else sys.path[:1]; sys.path.append(sys.argv.pop(1)); "
    "from modellint.runtime.{module} import main; main(*sys.argv[1:])"
)
_PACKAGE_PARENT = str(Path(__file__).resolve().parents[3])
_OUTPUT_KEPT = 16_384
_REPLY_LIMIT = 1 << 30
_SERVER_START = 120.0
_PATIENCE = 0.25
"""Seconds after which somebody who waits looks whether the work was called off."""


class PoolError(RuntimeError):
    """No child process can be started at all (torch is missing, for one); the message is one line."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended: `reply` where the child answered, else `ended` says how it went away.

    `ended` is `timeout`, `cancelled`, `exit N` or `signal N`. `output` is the tail of what the child printed.
    """

    reply: Mapping[str, Any] | None
    ended: str
    output: str


class Pool:
    """Runs jobs, each in a process of its own. Use as a context manager; `run` may be called from several threads.

    `preload` names modules that the fork server imports beside torch, for many models of one library; importing
    them must not compute anything. `fork` is decided by the system unless given.
    """

    def __init__(self, *, fork: bool | None = None, preload: Sequence[str] = ()) -> None:
        self._preload = tuple(preload)
        self._fork = hasattr(os, "fork") and sys.platform != "win32" if fork is None else fork
        self._server: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the fork server and wait until torch is imported. Raises `PoolError`."""
        with self._lock:
            if not self._fork or self._server is not None:
                return
            ours, theirs = socket.socketpair()
            self._server = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    _BOOT.format(module="process.server"),
                    _PACKAGE_PARENT,
                    str(theirs.fileno()),
                    *self._preload,
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            theirs.close()
            ours.settimeout(_SERVER_START)
            try:
                ready = ours.recv(1)
            except TimeoutError:
                ready = b""
            if not ready:
                self._server.kill()
                stderr = self._server.communicate()[1].decode(errors="replace").strip().splitlines()
                self._server = None
                raise PoolError(_why_no_server(stderr))
            ours.settimeout(None)
            self._control = ours

    def close(self) -> None:
        """End the server; children that still run were killed by those who waited for them."""
        if self._control is not None:
            self._control.close()
        if self._server is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._server.wait(2)
            self._server.kill()
            self._server.wait()
            if self._server.stderr:
                self._server.stderr.close()

    def run(
        self,
        job: Mapping[str, Any],
        timeout: float,
        cancelled: threading.Event | None = None,
        listener: Listener | None = None,
        *,
        afresh: bool = False,
    ) -> Outcome:
        """Run one job in a child of its own for at most `timeout` seconds, or until `cancelled` is set.

        `listener` is told what the child reports on its way. `afresh`: in a new interpreter, for a job that does
        without torch. Raises `PoolError`.
        """
        cancelled = cancelled or threading.Event()
        if self._fork and not afresh:
            self.start()
            return self._run_forked(job, timeout, cancelled, listener)
        return _run_spawned(job, timeout, cancelled, listener)

    def _run_forked(
        self, job: Mapping[str, Any], timeout: float, cancelled: threading.Event, listener: Listener | None
    ) -> Outcome:
        channel, theirs = socket.socketpair()
        output_read, output_write = os.pipe()
        status_read, status_write = os.pipe()
        try:
            with self._lock:
                if self._control is None:
                    raise PoolError("the worker process is gone")
                try:
                    socket.send_fds(self._control, [b"J"], [theirs.fileno(), output_write, status_write])
                except OSError:
                    raise PoolError("the worker process is gone") from None
            theirs.close()
            os.close(output_write)
            os.close(status_write)
            return _Conversation(channel, output_read, status_read, timeout, cancelled, Reply(listener)).hold(job)
        finally:
            channel.close()
            os.close(output_read)
            os.close(status_read)


class _Conversation:
    """One job with one forked child, until it has answered or is gone."""

    def __init__(
        self,
        channel: socket.socket,
        output: int,
        status: int,
        timeout: float,
        cancelled: threading.Event,
        reply: Reply,
    ) -> None:
        self._cancelled = cancelled
        self._channel = channel
        self._output = output
        self._status = status
        self._deadline = time.monotonic() + timeout
        self._reply = reply
        self._received = 0
        self._printed = bytearray()
        self._told = bytearray()

    def hold(self, job: Mapping[str, Any]) -> Outcome:
        self._channel.setblocking(False)
        pending = (json.dumps(job) + "\n").encode()
        ended = ""
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._channel, selectors.EVENT_READ | selectors.EVENT_WRITE)
                selector.register(self._output, selectors.EVENT_READ)
                selector.register(self._status, selectors.EVENT_READ)
                while not ended and not self._reply.finished:
                    left = self._deadline - time.monotonic()
                    if left <= 0 or self._cancelled.is_set():
                        ended = "cancelled" if self._cancelled.is_set() else "timeout"
                        break
                    for key, events in selector.select(min(left, _PATIENCE)):
                        if key.fileobj is self._channel:
                            if events & selectors.EVENT_WRITE:
                                pending = self._send(pending)
                                if not pending:
                                    selector.modify(self._channel, selectors.EVENT_READ)
                            if events & selectors.EVENT_READ and not self._receive():
                                selector.unregister(self._channel)
                        elif key.fd == self._output:
                            if not self._print():
                                selector.unregister(self._output)
                        else:
                            ended = self._listen()
            while ended and ended not in ("timeout", "cancelled") and self._receive():
                pass
        finally:
            self._kill()
        os.set_blocking(self._output, False)
        while self._print():
            pass
        return Outcome(self._reply.answer(), ended or "exit 0", self._printed.decode(errors="replace"))

    def _send(self, pending: bytes) -> bytes:
        try:
            return pending[self._channel.send(pending) :]
        except BlockingIOError:
            return pending
        except OSError:
            return b""

    def _receive(self) -> bool:
        try:
            data = self._channel.recv(1 << 20)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        self._reply.feed(data)
        self._received += len(data)
        return bool(data) and self._received < _REPLY_LIMIT

    def _print(self) -> bool:
        try:
            data = os.read(self._output, 65_536)
        except BlockingIOError:
            return False
        self._printed += data
        del self._printed[:-_OUTPUT_KEPT]
        return bool(data)

    def _listen(self) -> str:
        """Read the server's report; return how the child ended, or nothing while it runs."""
        data = os.read(self._status, 256)
        self._told += data
        lines = self._told.split(b"\n")
        if len(lines) > 2:
            code = int(lines[1])
            return f"exit {code}" if code >= 0 else f"signal {-code}"
        return "" if data else "signal 9"

    def _kill(self) -> None:
        """End the child and whatever it has forked: it leads a process group of its own."""
        first = bytes(self._told).split(b"\n")[0]
        if not first and select_readable(self._status):
            self._listen()
            first = bytes(self._told).split(b"\n")[0]
        if first:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(int(first), signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(first), signal.SIGKILL)


def select_readable(descriptor: int, seconds: float = 1.0) -> bool:
    """Tell whether `descriptor` can be read within `seconds`."""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        return bool(selector.select(seconds))


def _run_spawned(
    job: Mapping[str, Any], timeout: float, cancelled: threading.Event, listener: Listener | None
) -> Outcome:
    """Run a job in a fresh interpreter: slower by the import of torch, and works everywhere."""
    child = subprocess.Popen(
        [sys.executable, "-c", _BOOT.format(module="worker.spawned"), _PACKAGE_PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        answer, printed = _communicate(child, (json.dumps(job) + "\n").encode(), timeout, cancelled)
        ended = f"exit {child.returncode}" if child.returncode >= 0 else f"signal {-child.returncode}"
    except subprocess.TimeoutExpired:
        child.kill()
        answer, printed = child.communicate()
        ended = "cancelled" if cancelled.is_set() else "timeout"
    finally:
        with contextlib.suppress(AttributeError, ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    reply = Reply(listener)
    reply.feed(answer)
    return Outcome(reply.answer(), ended, printed[-_OUTPUT_KEPT:].decode(errors="replace"))


def _communicate(
    child: subprocess.Popen[bytes], data: bytes, timeout: float, cancelled: threading.Event
) -> tuple[bytes, bytes]:
    deadline = time.monotonic() + timeout
    pending: bytes | None = data
    while True:
        try:
            return child.communicate(pending, min(_PATIENCE, max(deadline - time.monotonic(), 0.01)))
        except subprocess.TimeoutExpired:
            pending = None
            if cancelled.is_set() or time.monotonic() >= deadline:
                raise


def _why_no_server(stderr: list[str]) -> str:
    if any("No module named 'torch'" in line for line in stderr):
        return "torch cannot be imported: install it beside modellint (pip install 'modellint[trace]')"
    return f"the worker process did not start: {stderr[-1] if stderr else 'it said nothing'}"
