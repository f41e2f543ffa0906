"""Several processes check the files of one run; each takes the largest one that is left."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TypeAlias

from modellint.linting.checkers import language_of
from modellint.linting.engine import Engine, FileReport, Plan
from modellint.linting.notes import Notes, take_notes
from modellint.linting.states import Reads
from modellint.sources import from_disk

_Task: TypeAlias = tuple[Path, ...]
# What a forked process finds in its memory: the engine, and our ends of the pipes.
_inherited: tuple[Engine, list[Connection]] | None = None


class Team:
    """`count` processes that check files as `engine` would: `weights` are bytes to analyse, `named` those asked for.

    Where processes can be forked, the facts of the files are gathered before, so that all of them share these.
    """

    def __init__(self, engine: Engine, weights: Mapping[Path, int], named: Set[Path], count: int) -> None:
        self._engine = engine
        self._weights = weights
        self._named = named
        self._count = count
        self._notes: list[Notes] = []

    @property
    def notes(self) -> list[Notes]:
        """What the other processes have read, once all reports are there."""
        return self._notes

    def reports(self) -> Iterator[FileReport]:
        """Yield the reports as they come; none of the processes is left at the end, whatever that is."""
        left = dict.fromkeys(self._weights)
        for report in self._sent():
            del left[report.path]
            yield report
        for path in left:  # by a process that was killed
            yield self._engine.check(path, None, path in self._named)

    def _sent(self) -> Iterator[FileReport]:
        """Yield the reports that the processes send."""
        tasks = iter(sorted(self._tasks(), key=lambda task: -sum(map(self._weights.__getitem__, task))))
        workers: list[BaseProcess] = []
        try:
            ends = self._start(workers)
            for end in ends:
                _hand(end, tasks)
            while ends:
                ready = set(wait(ends))
                for end in [end for end in ends if end in ready]:
                    try:
                        message = end.recv()
                    except (EOFError, OSError):  # it was killed, and nobody knows what its reports follow from
                        self._notes.append(Notes(torn=True))
                        ends.remove(end)
                        continue
                    if isinstance(message, Notes):
                        self._notes.append(message)
                        ends.remove(end)
                    else:
                        _hand(end, tasks)
                        yield from message
        finally:
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.join()

    def _tasks(self) -> Iterator[_Task]:
        """Yield what goes to one process: each Python file alone, those of Rust together, like their workspaces."""
        yield from ((path,) for path in self._weights if language_of(path) != "rust")
        if rust := tuple(path for path in self._weights if language_of(path) == "rust"):
            yield rust

    def _start(self, workers: list[BaseProcess]) -> list[Connection]:
        """Start the processes, which join `workers`; return our ends of the pipes to them."""
        global _inherited
        forking = _can_fork()
        caching = isinstance(self._engine.read, Reads)
        ours: list[Connection] = []
        if forking:
            self._engine.foresee(self._weights)
        try:
            for _ in range(self._count):
                mine, theirs = multiprocessing.Pipe()
                ours.append(mine)
                if forking:
                    _inherited = self._engine, ours
                    worker: BaseProcess = multiprocessing.get_context("fork").Process(
                        target=_work, args=(theirs, self._named, None, caching), daemon=True
                    )
                else:
                    worker = multiprocessing.get_context("spawn").Process(
                        target=_work, args=(theirs, self._named, self._engine.plan, caching), daemon=True
                    )
                worker.start()
                workers.append(worker)
                theirs.close()  # or it would not be noticed that the process is gone
        finally:
            _inherited = None
        return ours


def _hand(end: Connection, tasks: Iterator[_Task]) -> None:
    """Hand the next task to a process, None where there is none left."""
    with suppress(OSError):  # it was killed, which reading from it will show
        end.send(next(tasks, None))


def _can_fork() -> bool:
    """Tell whether a fork is sure to survive here."""
    return sys.platform == "linux" and threading.active_count() == 1


def _work(end: Connection, named: Set[Path], plan: Plan | None, caching: bool) -> None:
    """Check what comes through the pipe, until nothing does; then send what was read for it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    if _inherited is not None:
        engine, ours = _inherited
        for other in ours:  # or it would not be noticed that the first process is gone
            other.close()
    else:
        assert plan is not None  # there is no memory to inherit
        engine = Engine.following(plan, Reads() if caching else from_disk)
    checked: list[Path] = []
    with suppress(EOFError, OSError):
        while (task := end.recv()) is not None:
            checked += task
            end.send([engine.check(path, None, path in named) for path in task])
        end.send(take_notes(engine, checked) if caching else Notes())
