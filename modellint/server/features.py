"""The messages that the server understands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from modellint.server import actions, hover, pulling, tracing
from modellint.server.application import SECTION, Server, path_of
from modellint.server.documents import Cell, Change, Document, Notebook, changed
from modellint.server.texts import Text

_SUFFIXES = {"python": ".py", "rust": ".rs"}


def register(server: Server) -> None:
    """Tie every message to what the desk does about it."""
    for method, handler in _HANDLERS.items():
        server.feature(method, _OPTIONS.get(method))(handler)
    server.command(tracing.COMMAND)(_trace)


# -- the session -------------------------------------------------------------------------------------------


def _initialize(ls: Server, params: types.InitializeParams) -> None:
    ls.begin(params)


async def _initialized(ls: Server, params: types.InitializedParams) -> None:
    await ls.restart()
    await ls.watch()


async def _folders(ls: Server, params: types.DidChangeWorkspaceFoldersParams) -> None:
    gone = {path_of(folder.uri) for folder in params.event.removed}
    added = [path for folder in params.event.added if (path := path_of(folder.uri)) is not None]
    ls.roots = [root for root in ls.roots if root not in gone] + [root for root in added if root not in ls.roots]
    await ls.restart()


async def _configuration(ls: Server, params: types.DidChangeConfigurationParams) -> None:
    given: Any = params.settings
    workspace = ls.client_capabilities.workspace
    if not given and workspace is not None and workspace.configuration:
        items = [types.ConfigurationItem(section=SECTION)]
        try:
            answer = await ls.workspace_configuration_async(types.ConfigurationParams(items))
        except JsonRpcException:
            return  # the settings are those that the client has sent before
        given = answer[0] if answer else None
    ls.configure(given)
    await ls.restart()


def _watched(ls: Server, params: types.DidChangeWatchedFilesParams) -> None:
    written: list[Path] = []
    moved: list[Path] = []
    for change in params.changes:
        if (path := path_of(change.uri)) is not None:
            (written if change.type is types.FileChangeType.Changed else moved).append(path)
    ls.desk.disk_changed(moved, written)


async def _trace(ls: Server, params: types.ExecuteCommandParams) -> Any:
    return await ls.tracer.command(params)


def _ends(ls: Server, *_: Any) -> None:
    ls.tracer.stop()


# -- texts -------------------------------------------------------------------------------------------------


def _opened(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
    item = params.text_document
    path = _path(ls, item.uri, item.language_id)
    if path is not None:
        ls.desk.put(Document(item.uri, path, item.version, Text.of(item.text)))


def _path(ls: Server, uri: str, language: str) -> Path | None:
    """Return the path of a text that is checked, None for another language or a notebook's cell."""
    path = path_of(uri)
    suffix = _SUFFIXES.get(language)
    if path is not None:
        return path if path.suffix in (".py", ".rs") or suffix == ".py" else None
    if not uri.startswith("untitled:") or suffix is None:
        return None
    name = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in uri.partition(":")[2])
    return (ls.roots[0] if ls.roots else Path.cwd()) / f"{name}{suffix}"


def _edited(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
    document = ls.desk.documents.get(params.text_document.uri)
    if isinstance(document, Document):  # not open: a client that is confused, or a language that is none of ours
        text = changed(document.text, _changes(params.content_changes), ls.desk.encoding)
        ls.desk.put(Document(document.uri, document.path, params.text_document.version, text))


def _changes(given: Any) -> list[Change]:
    changes = []
    for item in given:
        if isinstance(item, types.TextDocumentContentChangePartial):
            start, end = item.range.start, item.range.end
            changes.append(Change(item.text, (start.line, start.character), (end.line, end.character)))
        else:
            changes.append(Change(item.text))
    return changes


def _saved(ls: Server, params: types.DidSaveTextDocumentParams) -> None:
    ls.desk.saved(params.text_document.uri)


def _closed(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    _forget(ls, params.text_document.uri)


def _forget(ls: Server, uri: str) -> None:
    document = ls.desk.close(uri)
    if document is not None and ls.desk.pushes:
        for shown in document.uris:
            ls.publish(shown, None, [])


# -- notebooks ---------------------------------------------------------------------------------------------


def _notebook_opened(ls: Server, params: types.DidOpenNotebookDocumentParams) -> None:
    notebook = params.notebook_document
    path = path_of(notebook.uri)
    if path is None:
        path = (ls.roots[0] if ls.roots else Path.cwd()) / "untitled.ipynb"
    opened = Notebook(notebook.uri, path.with_suffix(".ipynb"), notebook.version, tuple(map(_cell, notebook.cells)))
    ls.desk.put(_with_texts(opened, params.cell_text_documents))


def _cell(cell: types.NotebookCell) -> Cell:
    return Cell(cell.document, cell.kind is types.NotebookCellKind.Code)


def _with_texts(notebook: Notebook, texts: Any) -> Notebook:
    for item in texts or ():
        notebook = notebook.with_cell(item.uri, Text.of(item.text), item.version, item.language_id)
    return notebook


def _notebook_edited(ls: Server, params: types.DidChangeNotebookDocumentParams) -> None:
    old = ls.desk.documents.get(params.notebook_document.uri)
    if not isinstance(old, Notebook):
        return
    new = Notebook(old.uri, old.path, params.notebook_document.version, old.cells)
    change = params.change.cells
    if change is not None and (structure := change.structure) is not None:
        array = structure.array
        new = new.spliced(array.start, array.delete_count, map(_cell, array.cells or ()))
        new = _with_texts(new, structure.did_open)
    for item in (change.text_content or ()) if change is not None else ():
        cell = next((cell for cell in new.cells if cell.uri == item.document.uri), None)
        if cell is not None:
            text = changed(cell.text, _changes(item.changes), ls.desk.encoding)
            new = new.with_cell(cell.uri, text, item.document.version)
    ls.desk.put(new)
    for uri in set(old.uris) - set(new.uris) if ls.desk.pushes else ():
        ls.publish(uri, None, [])


def _notebook_saved(ls: Server, params: types.DidSaveNotebookDocumentParams) -> None:
    ls.desk.saved(params.notebook_document.uri)


def _notebook_closed(ls: Server, params: types.DidCloseNotebookDocumentParams) -> None:
    _forget(ls, params.notebook_document.uri)


_HANDLERS: dict[str, Callable[..., Any]] = {
    types.INITIALIZE: _initialize,
    types.INITIALIZED: _initialized,
    types.SHUTDOWN: _ends,
    types.EXIT: _ends,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: _folders,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: _configuration,
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: _watched,
    types.TEXT_DOCUMENT_DID_OPEN: _opened,
    types.TEXT_DOCUMENT_DID_CHANGE: _edited,
    types.TEXT_DOCUMENT_DID_SAVE: _saved,
    types.TEXT_DOCUMENT_DID_CLOSE: _closed,
    types.NOTEBOOK_DOCUMENT_DID_OPEN: _notebook_opened,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE: _notebook_edited,
    types.NOTEBOOK_DOCUMENT_DID_SAVE: _notebook_saved,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE: _notebook_closed,
    types.TEXT_DOCUMENT_DIAGNOSTIC: pulling.pull,
    types.WORKSPACE_DIAGNOSTIC: pulling.pull_workspace,
    types.TEXT_DOCUMENT_CODE_ACTION: actions.offered,
    types.CODE_ACTION_RESOLVE: actions.resolved,
    types.TEXT_DOCUMENT_HOVER: hover.hover,
}
_OPTIONS: dict[str, Any] = {
    types.TEXT_DOCUMENT_DIAGNOSTIC: pulling.OPTIONS,
    types.TEXT_DOCUMENT_CODE_ACTION: actions.OPTIONS,
}
