"""When what is checked: one worker, the newest state first, results that are no longer asked for never shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from modellint.diagnostic import Diagnostic
from modellint.linting import FileReport, FixedFile
from modellint.linting.kept import Kept, is_kept, keep
from modellint.server.documents import Document, Open
from modellint.server.folders import ConfigurationError, Folder
from modellint.server.planning import Target, Work, plan
from modellint.server.results import Items, Result, items, result
from modellint.server.stamps import configures, content
from modellint.server.texts import Text
from modellint.server.worker import Superseded, Worker
from modellint.server.workspace import Workspace
from modellint.settings import Overrides
from modellint.sources.discovery import SUFFIXES

PAUSE = 0.2  # seconds without an edit before the other open files are checked again
_T = TypeVar("_T")


class Desk:
    """The open files and what is known about them.

    `deliver` is called with each new result, `tell` with each sentence that the user should read, once. All methods are
    for the event loop's thread; the engines belong to the worker's.
    """

    def __init__(self, deliver: Callable[[Result], None], tell: Callable[[str], None]) -> None:
        self.documents: dict[str, Open] = {}
        self.results: dict[str, Result] = {}
        self.encoding = "utf-16"
        self.epoch = 0
        self.pushes = True
        self._deliver = deliver
        self._tell = tell
        self._told: set[str] = set()
        self._space = Workspace(self._checkpoint)
        self._touched: set[Path] = set()
        self._fixable: dict[str, tuple[Open, int, FileReport]] = {}
        self._settled = 0
        self._closed: dict[Path, tuple[int, Items]] = {}
        self._turn = asyncio.Lock()
        self._checking: Open | None = None
        self._pushing: dict[str, asyncio.Task[None]] = {}
        self._resting: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._worker = Worker()

    # -- what is open --------------------------------------------------------------------------------------

    def put(self, document: Open) -> None:
        """Take a file that was opened or changed, and check it."""
        fresh = document.uri not in self.documents
        self._settled += fresh
        self.documents[document.uri] = document
        self._space.put(document)
        self._touched.add(document.path)
        self.epoch += 1
        if fresh:
            self._spawn(self._opening(document))
        else:
            self._push(document.uri)

    async def _opening(self, document: Open) -> None:
        folder = self.folder(document.path)
        if folder.root is None or (document.path not in folder.files and document.path.exists()):
            await self._load([folder])
        self._push(document.uri)

    def close(self, uri: str) -> Open | None:
        """Forget an open file: the disk counts again. Returns it, None where it was not open."""
        document = self.documents.pop(uri, None)
        if document is None:
            return None
        for known in (self.results, self._fixable):
            known.pop(uri, None)
        data = self._space.remove(document)
        self.epoch += 1
        self._settled += 1
        folder = self.folder(document.path)
        if folder.root is None:
            self._spawn(self._load([folder]))
        elif data != content(document.path):
            self._spawn(self._notice([document.path]))
        return document

    def owner(self, uri: str) -> str | None:
        """Return the address of the open file that is shown, or has a cell that is shown, at `uri`."""
        if uri in self.documents:
            return uri
        return next((document.uri for document in self.documents.values() if uri in document.uris), None)

    def folder(self, path: Path) -> Folder:
        """Return the innermost folder of the workspace around `path`."""
        return self._space.folder(path)

    @property
    def folders(self) -> tuple[Folder, ...]:
        """The folders of the workspace."""
        return self._space.folders

    # -- checking ------------------------------------------------------------------------------------------

    async def fresh(self, uri: str) -> Result | None:
        """Return what is true of an open file now, None if it is not open; waits as long as it is being edited."""
        while (document := self.documents.get(uri)) is not None:
            if (known := self._known(document)) is not None:
                return known
            await self._check(document)
        return None

    def _known(self, document: Open) -> Result | None:
        """Return what is known of a file, None where that was before the last change of anything."""
        known = self.results.get(document.uri)
        return known if known is not None and known.document is document and known.epoch == self.epoch else None

    async def _check(self, document: Open) -> None:
        async with self._turn:
            # others may have waited for the same
            if not self._is_current(document) or self._known(document) is not None:
                return
            epoch, previous = self.epoch, self.results.get(document.uri)
            self._checking = document
            try:
                found = await self._work(lambda: self._result(document, epoch, previous))
            except Superseded:
                return
            finally:
                self._checking = None
            if self._is_current(document):
                self.results[document.uri] = found
            self._say(found.problems)

    def _checkpoint(self) -> None:
        """End the check of a text that is no longer the one in the editor."""
        if self._checking is not None and not self._is_current(self._checking):
            raise Superseded

    def _is_current(self, document: Open) -> bool:
        return self.documents.get(document.uri) is document

    def _result(self, document: Open, epoch: int, previous: Result | None) -> Result:
        folder = self.folder(document.path)
        traced: tuple[Diagnostic, ...] = ()
        self._checkpoint()
        is_open = self._is_current(document)
        try:
            report = folder.check(document.path, document.data if is_open else None)
            if isinstance(document, Document):
                traced = folder.traced(document.path)
        except ConfigurationError as error:
            report = FileReport(document.path, errors=(str(error),))
        finally:
            if is_open and not self._is_current(document):
                self._touched.add(document.path)  # what was checked is not what other files go by
        return result(document, epoch, report, previous, traced, lambda found: self._items(document, found))

    def _items(self, document: Open, found: tuple[Diagnostic, ...]) -> Items:
        folder = self.folder(document.path)
        return items(document, found, self.encoding, self._space.opened, lambda code: folder.rule(document.path, code))

    async def with_fixes(self, uri: str) -> tuple[Open, FileReport] | None:
        """Return an open file and its findings with the fixes that repair them, None if it is not open."""
        document = self.documents.get(uri)
        if document is None:
            return None
        async with self._turn:
            known = self._fixable.get(uri)
            if known is None or known[0] is not document or known[1] != self.epoch:
                epoch, folder = self.epoch, self.folder(document.path)
                report = await self._work(lambda: folder.check(document.path, document.data, fixes=True))
                known = self._fixable[uri] = (document, epoch, report)
        return known[0], known[2]

    async def fixed(self, uri: str) -> tuple[Open, FixedFile] | None:
        """Return an open file and what its safe fixes make of it, None if it is not open."""
        document = self.documents.get(uri)
        if document is None:
            return None
        folder = self.folder(document.path)
        async with self._turn:
            file = await self._work(lambda: folder.fix(document.path, document.data))
        return None if file is None else (document, file)

    async def on_disk(self, path: Path) -> Items:
        """Return the findings of a file that is not open, as of the last time that something was opened or written."""
        if path not in self._closed or self._closed[path][0] != self._settled:
            closed, settled = Document(path.as_uri(), path, None, Text.of("")), self._settled
            async with self._turn:
                found = await self._work(lambda: self._result(closed, self.epoch, None))
            self._closed[path] = (settled, found.items)
        return self._closed[path][1]

    async def planned(self, targets: list[Target]) -> list[Work]:
        """Return what is to be traced, as `plan` does. Raises one of `ConfigurationError`."""
        async with self._turn:
            return await self._work(lambda: plan(self._space.folders or [self._space.singles], targets))

    async def keep(self, root: Path, kept: Kept) -> None:
        """Show what a trace in the project at `root` has found, and keep it there."""

        def work() -> None:
            keep(root, kept)
            for folder in self._space.every:
                folder.hold(root, kept)

        async with self._turn:
            await self._work(work)
        self._renew()

    async def _work(self, function: Callable[[], _T]) -> _T:
        def work() -> _T:
            while self._touched:  # the engines hear of every text before the first question about it
                path = self._touched.pop()
                self.folder(path).changed(path)
            return function()

        return await self._worker.do(work)

    # -- showing -------------------------------------------------------------------------------------------

    def _push(self, uri: str) -> None:
        if self._resting is not None:
            self._resting.cancel()
        self._resting = asyncio.get_running_loop().call_later(PAUSE, self._rest)
        if self.pushes and uri not in self._pushing:
            self._pushing[uri] = self._spawn(self._show(uri))

    async def _show(self, uri: str) -> None:
        try:
            found = await self.fresh(uri)
        finally:
            self._pushing.pop(uri, None)
        if found is not None:
            self._deliver(found)

    def _rest(self) -> None:
        self._resting = None
        self._spawn(self._others())

    async def _others(self) -> None:
        """Check again, in a pause, what an edit elsewhere may have changed."""
        for uri in list(self.documents):
            before, started = self.results.get(uri), self.epoch
            if before is None or before.epoch == self.epoch:
                continue
            found = await self.fresh(uri)
            if found is None:
                continue
            if before.items != found.items or (self.pushes and before.document is not found.document):
                self._deliver(found)
            if self.epoch != started:
                return  # somebody is typing: the next pause goes on

    def _say(self, problems: Iterable[str]) -> None:
        for problem in problems:
            if problem not in self._told:
                self._told.add(problem)
                self._tell(problem)

    # -- settings and the disk -----------------------------------------------------------------------------

    async def start(self, roots: Iterable[Path], overrides: Overrides) -> None:
        """Work in the folders `roots` with the options `overrides` from now on."""
        self._space.begin(roots, overrides)
        await self.reload()

    async def ready(self) -> None:
        """Wait until the settings and the lists of files are known."""
        async with self._turn:
            pass

    async def reload(self) -> None:
        """Read configuration, rules and lists of files again; where they are broken, what was in force stays."""
        await self._load(self._space.every)

    async def _load(self, folders: Iterable[Folder]) -> None:
        async with self._turn:
            problems: list[str] = []
            for folder in folders:
                try:
                    await self._work(self._space.loading(folder))
                except ConfigurationError as error:
                    problems.append(str(error))
            self._space.note_stamps()
            if not problems:
                self._told.clear()  # what breaks again is said again
            self._say(problems)
        self._renew()

    def _renew(self) -> None:
        """Show everything afresh."""
        self.epoch += 1
        self._settled += 1
        for uri in self.documents:
            self._push(uri)

    async def _notice(self, paths: Iterable[Path]) -> None:
        async with self._turn:
            for path in paths:
                folder = self.folder(path)
                await self._work(lambda f=folder, p=path: f.changed(p))  # type: ignore[misc]
        self._renew()

    def disk_changed(self, created_or_deleted: Sequence[Path], written: Sequence[Path]) -> None:
        """Take notice of what happened on the disk."""
        if any(is_kept(path) for path in (*created_or_deleted, *written)):
            self._renew()
        moved = [p for p in created_or_deleted if not p.suffix or p.suffix in SUFFIXES or configures(p)]
        moved = [p for p in moved if p.exists() != (p in self.folder(p).files) or configures(p)]
        written = [p for p in written if p not in self._space.opened or configures(p)]
        if moved or any(map(configures, written)):
            self._spawn(self.reload())
        elif written:
            self._spawn(self._notice(written))

    def saved(self, uri: str) -> None:
        """Take notice that an open file was saved, and look for configuration that no watcher told of."""
        document = self.documents.get(uri)
        if document is None:
            return
        self._settled += 1
        known = self.results.get(uri)
        folder = self.folder(document.path)
        unknown = folder.root is not None and document.path not in folder.files
        broken = known is not None and not known.parsed and len(self.documents) > 1
        if unknown or broken or self._space.is_restamped():
            self._spawn(self.reload())

    def _spawn(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
