"""A session through pytest-lsp, a client by others with the capabilities of real editors.

It comes with pytest-asyncio, which is nothing for the other tests: see the dependency group
`lsp`.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

pytest_lsp = pytest.importorskip("pytest_lsp")

from lsprotocol import types  # noqa: E402

from tests.server.programs import DEFECT, FINE, FORGOTTEN  # noqa: E402

SERVER = pytest_lsp.ClientServerConfig(server_command=[sys.executable, "-m", "modellint", "server"])
CAPABILITIES = ["visual-studio-code", "neovim", "emacs"]


@pytest_lsp.fixture(config=SERVER, params=CAPABILITIES)
async def session(
    lsp_client: pytest_lsp.LanguageClient, request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[None]:
    @lsp_client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def registered(params: types.RegistrationParams) -> None:
        """Take what the server wants to be told of."""

    folder = types.WorkspaceFolder(tmp_path.as_uri(), "it")
    capabilities = pytest_lsp.client_capabilities(request.param)
    await lsp_client.initialize_session(types.InitializeParams(capabilities=capabilities, workspace_folders=[folder]))
    yield
    await lsp_client.shutdown_session()


async def codes(session: pytest_lsp.LanguageClient, uri: str) -> list[str]:
    """Return the codes shown for a text, fetched where the editor fetches and else as they come."""
    if session.capabilities.text_document.diagnostic is not None:
        params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
        report = await session.text_document_diagnostic_async(params)
        return [item.code for item in report.items]
    await session.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    return [item.code for item in session.diagnostics[uri]]


@pytest.mark.asyncio
async def test_findings_fixes_and_a_repair(session: pytest_lsp.LanguageClient, tmp_path: Path) -> None:
    uri = (tmp_path / "predict.py").as_uri()
    item = types.TextDocumentItem(uri, "python", 1, FORGOTTEN)
    session.text_document_did_open(types.DidOpenTextDocumentParams(item))
    assert await codes(session, uri) == DEFECT

    place = types.Position(7, 12)
    document = types.TextDocumentIdentifier(uri)
    hover = await session.text_document_hover_async(types.HoverParams(document, place))
    assert "missing-eval" in hover.contents.value

    asked = types.CodeActionParams(document, types.Range(place, place), types.CodeActionContext([]))
    titles = [action.title for action in await session.text_document_code_action_async(asked)]
    assert any(title.startswith("ML101: ") for title in titles)
    assert any(title.startswith("Suppress ML101") for title in titles)

    version = types.VersionedTextDocumentIdentifier(2, uri)
    whole = types.TextDocumentContentChangeWholeDocument(FINE)
    session.text_document_did_change(types.DidChangeTextDocumentParams(version, [whole]))
    assert await codes(session, uri) == []
