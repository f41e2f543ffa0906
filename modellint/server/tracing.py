"""The command `modellint.trace`: the runtime pass in the background, with a progress that can be cancelled."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from modellint.diagnostic import Diagnostic
from modellint.linting.kept import take
from modellint.linting.tracing import concluded
from modellint.runtime import Pool, PoolError, TargetReport, default_jobs, trace_targets
from modellint.server.folders import ConfigurationError
from modellint.server.planning import Target, Work

if TYPE_CHECKING:
    from modellint.server.application import Server

COMMAND = "modellint.trace"
_TITLE = "Tracing models"
_NO_MODEL = "there is no model to trace: list `models:` in .modellint.yaml, or name a target (file.py:name)"


class Tracer:
    """Traces one thing at a time. All methods are for the event loop's thread."""

    def __init__(self, ls: Server) -> None:
        self._ls = ls
        self._cancelled: threading.Event | None = None
        self._task: asyncio.Task[Any] | None = None

    async def command(self, params: types.ExecuteCommandParams) -> dict[str, int] | None:
        """Trace the targets that `params` name, or else the models of the configuration.

        With a token for progress the answer says what was done; without one it comes at once.
        Raises `JsonRpcInvalidParams`.
        """
        targets = _targets(params.arguments)
        await self._ls.desk.ready()
        try:
            work = await self._ls.desk.planned(targets)
        except ConfigurationError as error:
            self._ls.tell(str(error))
            return None
        if not work:
            self._ls.tell(_NO_MODEL)
        elif self._cancelled is not None:
            self._ls.tell("models are being traced already")
        elif params.work_done_token is not None:
            return await self._traced(work, params.work_done_token)
        else:
            self._cancelled = threading.Event()
            self._task = asyncio.get_running_loop().create_task(self._traced(work, await self._own_token()))
        return None

    def stop(self) -> None:
        """Call off what still runs."""
        if self._cancelled is not None:
            self._cancelled.set()

    async def _own_token(self) -> str | None:
        window = self._ls.client_capabilities.window
        if window is None or not window.work_done_progress:
            return None
        token = str(uuid.uuid4())
        try:
            await self._ls.work_done_progress.create_async(token)
        except Exception:  # whatever the client answers: the work is done without
            return None
        return token

    async def _traced(self, work: list[Work], token: int | str | None) -> dict[str, int]:
        cancelled = self._cancelled = self._cancelled or threading.Event()
        progress = _Progress(self._ls, token, sum(len(part.requests) for part in work), cancelled)
        started = time.time_ns()
        thread = ThreadPoolExecutor(1, "modellint-trace")
        told = "cancelled"
        try:
            running = asyncio.get_running_loop().run_in_executor(thread, _run, work, progress, cancelled)
            found = await running
            if not cancelled.is_set():
                told = await self._taken(found, started)
            return {"models": progress.done, "findings": sum(len(diagnostics) for *_, diagnostics in found)}
        except PoolError as error:
            told = str(error)
            self._ls.tell(told)
            return {"models": 0, "findings": 0}
        finally:
            cancelled.set()  # also where the request itself was cancelled: the thread goes on until it notices
            self._cancelled = None
            thread.shutdown(wait=False)
            progress.end(told)

    async def _taken(self, found: list[tuple[Work, list[TargetReport], list[Diagnostic]]], started: int) -> str:
        """Keep and show what was found; return a line about it."""
        by_project: dict[Path, list[Diagnostic]] = {}
        for part, reports, diagnostics in found:
            for report in reports:
                if report.problem is not None:
                    self._ls.tell(report.problem)
            by_project.setdefault(part.folder.project, []).extend(diagnostics)
        for root, diagnostics in by_project.items():
            await self._ls.desk.keep(root, take(diagnostics, started))
        number = sum(map(len, by_project.values()))
        return f"{number} finding{'' if number == 1 else 's'}"


def _run(
    work: list[Work], progress: _Progress, cancelled: threading.Event
) -> list[tuple[Work, list[TargetReport], list[Diagnostic]]]:
    """Trace everything, in a thread of its own. Raises `PoolError`."""
    found = []
    with Pool() as pool:
        for part in work:
            reports = []
            for report in trace_targets(
                part.requests,
                part.settings.rules,
                jobs=default_jobs(len(part.requests)),
                pool=pool,
                listener=progress.listen,
                cancelled=cancelled,
            ):
                reports.append(report)
                progress.finished(report)
            found.append((part, reports, concluded(reports, part.settings)))
    return found


class _Progress:
    """What the client is shown; told by any thread."""

    def __init__(self, ls: Server, token: int | str | None, total: int, cancelled: threading.Event) -> None:
        self.done = 0
        self._ls = ls
        self._token = token
        self._total = total
        self._loop = asyncio.get_running_loop()
        if token is None:
            return
        begin = types.WorkDoneProgressBegin(_TITLE, cancellable=True, percentage=0, message=f"0 of {total}")
        ls.work_done_progress.begin(token, begin)

        def noticed(asked: Future[Any]) -> None:
            if asked.cancelled():
                cancelled.set()

        ls.work_done_progress.tokens[token].add_done_callback(noticed)

    def listen(self, part: Mapping[str, Any]) -> None:
        """Hear of a part of the work on one model."""
        if "probe" in part:
            self._loop.call_soon_threadsafe(self._report, f"probe {part['probe']}")

    def finished(self, report: TargetReport) -> None:
        """Hear of a model that is done."""
        self.done += 1
        self._loop.call_soon_threadsafe(self._report, report.request.name or report.request.target)

    def _report(self, what: str) -> None:
        if self._token is not None and self._token in self._ls.work_done_progress.tokens:
            message = f"{self.done} of {self._total}: {what}"
            value = types.WorkDoneProgressReport(message=message, percentage=100 * self.done // self._total)
            self._ls.work_done_progress.report(self._token, value)

    def end(self, message: str) -> None:
        """Say that the work has ended, and how."""
        if self._token is not None:
            self._ls.work_done_progress.tokens.pop(self._token, None)
            self._ls.work_done_progress.end(self._token, types.WorkDoneProgressEnd(message=message))


def _targets(arguments: Any) -> list[Target]:
    """Return what the arguments of the command name.

    An argument is a target, or an object with `target` and `inputs`. Raises `JsonRpcInvalidParams`.
    """
    targets = []
    for argument in arguments or ():
        given = {"target": argument} if isinstance(argument, str) else argument
        known = isinstance(given, Mapping) and not given.keys() - {"target", "inputs"}
        if not known or not isinstance(given.get("target"), str):
            raise _invalid("an argument is a target, or an object with `target` and `inputs`")
        inputs = given.get("inputs") or []
        if not isinstance(inputs, list) or not all(isinstance(spec, str) for spec in inputs):
            raise _invalid("`inputs` is a list of texts such as float32[2,3,224,224]")
        targets.append(Target(given["target"], tuple(inputs)))
    return targets


def _invalid(problem: str) -> JsonRpcInvalidParams:
    return JsonRpcInvalidParams(f"{COMMAND}: {problem}")
