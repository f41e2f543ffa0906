"""The fork server: imports torch once, computes nothing ever (forking after OpenMP has started hangs).

It reads single bytes with three descriptors each from its control socket: the job's channel, where the child's
own output goes, and where we report the child's process id and exit status. It ends when the socket closes.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import selectors
import signal
import socket


def main(descriptor: str, *preload: str) -> None:
    """Serve until the parent closes the control socket; `preload` names further modules to import."""
    control_fd = int(descriptor)
    control = socket.socket(fileno=control_fd)
    # A Ctrl-C in the terminal is the parent's business: it closes the socket, and kills the children.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    os.set_blocking(wake_read, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    _preload(preload)
    control.sendall(b"R")
    children: dict[int, int] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        selector.register(wake_read, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is control:
                    message, fds, _, _ = socket.recv_fds(control, 1, 3)
                    if not message:
                        os._exit(0)
                    _start(fds, children, (control_fd, wake_read, wake_write))
                else:
                    while _drained(wake_read):
                        pass
            _reap(children)


def _drained(descriptor: int) -> bool:
    try:
        return bool(os.read(descriptor, 4096))
    except BlockingIOError:
        return False


def _preload(modules: tuple[str, ...]) -> None:
    """Import what every child needs; nothing here may run a kernel."""
    import torch
    import torch.fx  # noqa: F401

    from modellint.runtime.capture import ladder  # noqa: F401
    from modellint.runtime.worker import inputs, load, main  # noqa: F401

    for name in modules:
        importlib.import_module(name)
    # The collector of a child would walk all of this, and so copy the pages that are shared with us.
    gc.freeze()


def _start(fds: list[int], children: dict[int, int], ours: tuple[int, ...]) -> None:
    channel, output, status = fds
    pid = os.fork()
    if pid:
        os.write(status, f"{pid}\n".encode())
        children[pid] = status
        os.close(channel)
        os.close(output)
        return
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.setsid()
        for descriptor in (*ours, status, *children.values()):
            os.close(descriptor)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(null)
        os.close(output)
        from modellint.runtime.worker.main import main as work

        work(channel, channel)
    finally:
        os._exit(70)


def _reap(children: dict[int, int]) -> None:
    while children:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        if (descriptor := children.pop(pid, None)) is not None:
            with contextlib.suppress(BrokenPipeError):
                os.write(descriptor, f"{os.waitstatus_to_exitcode(status)}\n".encode())
            os.close(descriptor)
