"""The language server on pygls: each message becomes a call of the desk, and each result a message."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from cattrs import transform_error
from lsprotocol import types
from pygls.exceptions import (
    FeatureRequestError,
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.uris import to_fs_path, uri_scheme

from modellint._version import __version__
from modellint.linting.kept import NAME
from modellint.linting.store import FOLDER
from modellint.server.desk import Desk
from modellint.server.options import OptionsError, read_options
from modellint.server.results import Result
from modellint.server.tracing import Tracer
from modellint.settings import Overrides

_log = logging.getLogger(__name__)
SECTION = "modellint"
_ENCODINGS = ("utf-16", "utf-8", "utf-32")
_EARLY = (types.INITIALIZE, types.EXIT)  # what a client may send before it has said what it can


class _Protocol(LanguageServerProtocol):
    """The protocol without pygls's own copies of the documents: ours take every message that a client may send."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Return a message as pygls has it; a request that is none of the protocol gets an error for its answer."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "method" in data and "id" in data:
                self.refuse(data["id"], JsonRpcInvalidParams(f"{data['method']}: {_problem(error)}"))
            raise

    def handle_message(self, message: Any) -> None:
        """Take a message; whatever else came as JSON is told to be none."""
        asks = hasattr(message, "id") and hasattr(message, "method")
        if not hasattr(message, "jsonrpc"):
            self.refuse(None, JsonRpcInvalidRequest("a message is an object with `jsonrpc`"))
        elif asks and self._shutdown:
            self.refuse(message.id, JsonRpcInvalidRequest("nothing comes after `shutdown` but `exit`"))
        elif hasattr(self, "client_capabilities") or getattr(message, "method", None) in _EARLY:
            super().handle_message(message)
        elif asks:
            self.refuse(message.id, JsonRpcServerNotInitialized("`initialize` comes first"))

    def refuse(self, number: Any, error: JsonRpcException) -> None:
        """Answer the request `number` with an error; None where nobody can tell which one it was."""
        number = number if isinstance(number, str | int) else None
        answer = {"code": error.code, "message": error.message}
        self._send_data({"jsonrpc": self.VERSION, "id": number, "error": answer})  # pygls leaves out an `id` of None

    def _passed_on(self, method: str, params: Any) -> Iterator[Any]:
        if (handler := self.fm.features.get(method)) is not None:
            yield handler, (params,), None

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(self, params: types.ExecuteCommandParams) -> Any:  # type: ignore[override]
        """Call a command with all of `params`: the token for its progress is among them; it can be cancelled."""
        if (handler := self.fm.commands.get(params.command)) is None:
            raise JsonRpcInvalidParams(f"no such command: {params.command}")
        return await handler(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: Any) -> Iterator[Any]:
        yield from self._passed_on(types.TEXT_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: Any) -> Iterator[Any]:
        yield from self._passed_on(types.TEXT_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: Any) -> Iterator[Any]:
        yield from self._passed_on(types.TEXT_DOCUMENT_DID_CLOSE, params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: Any) -> Iterator[Any]:
        yield from self._passed_on(types.NOTEBOOK_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(self, params: Any) -> Iterator[Any]:
        yield from self._passed_on(types.NOTEBOOK_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(self, params: Any) -> Iterator[Any]:
        yield from self._passed_on(types.NOTEBOOK_DOCUMENT_DID_CLOSE, params)


class Server(LanguageServer):
    """modellint behind the protocol; `base` are the options of the command line."""

    def __init__(self, base: Overrides) -> None:
        notebooks = types.NotebookDocumentFilterWithNotebook(
            notebook="jupyter-notebook", cells=[types.NotebookCellLanguage("python")]
        )
        super().__init__(
            "modellint",
            __version__,
            text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
            notebook_document_sync=types.NotebookDocumentSyncOptions([notebooks], save=True),
            protocol_cls=_Protocol,
        )
        self.base = base
        self.roots: list[Path] = []
        self.overrides = base
        self.desk = Desk(self.deliver, self.tell)
        self.refreshes = False
        self.tracer = Tracer(self)

    # -- what is said to the client ------------------------------------------------------------------------

    def deliver(self, found: Result) -> None:
        """Publish a result or, where the client fetches results, ask it to."""
        if not self.desk.pushes:
            if self.refreshes:
                self.workspace_diagnostic_refresh(None)
            return
        for uri, items in found.items.items():
            self.publish(uri, found.document.part(uri)[1], items)

    def publish(self, uri: str, number: int | None, items: list[dict[str, Any]]) -> None:
        """Show exactly `items` at `uri`."""
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, self.structured(items), number))

    def structured(self, items: list[dict[str, Any]]) -> list[types.Diagnostic]:
        """Return diagnostics as pygls wants them."""
        return [self.protocol._converter.structure(item, types.Diagnostic) for item in items]

    def tell(self, problem: str) -> None:
        """Show a sentence to the user."""
        self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"modellint: {problem}"))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log what went wrong with a message: the next one may be better, and nobody can do anything about this one."""
        if isinstance(error, ValueError | RecursionError) and source is JsonRpcException:
            assert isinstance(self.protocol, _Protocol)
            self.protocol.refuse(None, JsonRpcParseError(f"no JSON: {error}"))
        if source is not FeatureRequestError:
            _log.error("a message was left out: %s: %s", type(error).__name__, error)

    def shutdown(self) -> None:
        """End the session; nobody waits for models that still run."""
        self.tracer.stop()
        super().shutdown()  # type: ignore[no-untyped-call]

    # -- beginning -----------------------------------------------------------------------------------------

    def begin(self, params: types.InitializeParams) -> None:
        """Take what the client says about itself; work starts in the folders that it names."""
        capabilities = params.capabilities
        encoding = self.workspace.position_encoding
        name = str(getattr(encoding, "value", encoding))
        self.desk.encoding = name if name in _ENCODINGS else "utf-16"
        document, workspace = capabilities.text_document, capabilities.workspace
        self.desk.pushes = document is None or document.diagnostic is None
        refresh = workspace.diagnostics if workspace is not None else None
        self.refreshes = refresh is not None and bool(refresh.refresh_support)
        uris = [folder.uri for folder in params.workspace_folders or ()] or [params.root_uri or ""]
        self.roots = [path for uri in uris if (path := path_of(uri)) is not None]
        if not self.roots and params.root_path:
            self.roots = [Path(params.root_path)]
        if self.roots:
            with suppress(OSError):  # paths are shown, and patterns count, as for `check` in that folder
                os.chdir(self.roots[0])
        given = params.initialization_options
        if isinstance(given, dict):
            given = given.get("settings", given)
        self.configure(given)

    def configure(self, given: Any) -> None:
        """Take the client's settings; where they are wrong, the user is told and those before stay."""
        if isinstance(given, dict) and isinstance(given.get(SECTION), dict):
            given = given[SECTION]
        try:
            self.overrides = read_options(given, self.base, self.roots[0] if self.roots else None)
        except OptionsError as error:
            self.tell(str(error))

    async def restart(self) -> None:
        """Work with the present roots and settings."""
        await self.desk.start(self.roots, self.overrides)

    async def watch(self) -> None:
        """Ask the client to tell of files that change outside of the editor."""
        workspace = self.client_capabilities.workspace
        watched = workspace.did_change_watched_files if workspace is not None else None
        if watched is None or not watched.dynamic_registration:
            return
        patterns = ("**/*.{py,ipynb,rs,yaml,yml,toml,lock}", "**/.gitignore", f"**/{FOLDER}/{NAME}")
        options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(p) for p in patterns])
        registration = types.Registration(
            "modellint-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, self.protocol._converter.unstructure(options)
        )
        with suppress(
            JsonRpcException
        ):  # a client that cannot do what it has said: saving a file is noticed all the same
            await self.client_register_capability_async(types.RegistrationParams([registration]))


def path_of(uri: str) -> Path | None:
    """Return the absolute path of a `file:` address, None for every other one."""
    try:
        name = to_fs_path(uri) if uri_scheme(uri) == "file" else None
    except ValueError:
        return None
    return Path(os.path.abspath(name)) if name and "\0" not in name else None  # noqa: PTH100 - links stay as they are


def _problem(error: JsonRpcException) -> str:
    """Return what is wrong with a message, in one line."""
    cause = error.__cause__
    lines = transform_error(cause) if isinstance(cause, BaseException) else []
    return "; ".join(str(line) for line in lines) or "the parameters are none of this request"


def make_server(base: Overrides) -> Server:
    """Return a server with all its features."""
    from modellint.server import features

    server = Server(base)
    features.register(server)
    return server
