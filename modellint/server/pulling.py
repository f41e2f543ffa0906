"""Diagnostics for clients that fetch them: of one text, and of the whole workspace."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from lsprotocol import types

from modellint.server.application import Server

OPTIONS = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=True, identifier="modellint")


async def pull(ls: Server, params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
    """Return the diagnostics of a text or cell, or that they are those that the client has."""
    uri = params.text_document.uri
    owner = ls.desk.owner(uri)
    known = await ls.desk.fresh(owner) if owner is not None else None
    items = known.items.get(uri, []) if known is not None else []
    identity = _identity(items)
    if identity == params.previous_result_id:
        return types.RelatedUnchangedDocumentDiagnosticReport(identity)
    return types.RelatedFullDocumentDiagnosticReport(ls.structured(items), result_id=identity)


async def pull_workspace(ls: Server, params: types.WorkspaceDiagnosticParams) -> types.WorkspaceDiagnosticReport:
    """Return the diagnostics of every file that `check` would look at; cells of notebooks where they are open."""
    await ls.desk.ready()
    before = {item.uri: item.value for item in params.previous_result_ids}
    reports: list[Any] = []
    opened = {document.path: document for document in ls.desk.documents.values()}
    for folder in ls.desk.folders:
        for path in sorted(folder.files | {p for p in opened if ls.desk.folder(p) is folder}):
            if path in opened:
                known = await ls.desk.fresh(opened[path].uri)
                shown = known.items if known is not None else {}
            elif path.suffix != ".ipynb":
                shown = await ls.desk.on_disk(path)
            else:
                continue
            for uri, items in shown.items():
                number = opened[path].part(uri)[1] if path in opened else None
                reports.append(_report(ls, uri, number, items, before.get(uri)))
    return types.WorkspaceDiagnosticReport(reports)


def _report(ls: Server, uri: str, number: int | None, items: list[dict[str, Any]], before: str | None) -> Any:
    identity = _identity(items)
    if identity == before:
        return types.WorkspaceUnchangedDocumentDiagnosticReport(uri, identity, number)
    return types.WorkspaceFullDocumentDiagnosticReport(uri, ls.structured(items), number, result_id=identity)


def _identity(items: list[dict[str, Any]]) -> str:
    return hashlib.sha256(json.dumps(items, sort_keys=True).encode()).hexdigest()[:16]
