"""Code actions: the fixes of `--fix`, comments that silence a finding, and all safe fixes at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from lsprotocol import types

from modellint.diagnostic import Applicability, Diagnostic, Edit, Fix, Span
from modellint.server.application import Server
from modellint.server.documents import Open
from modellint.server.editing import as_changes, rewritten, suppression

FIX_ALL = "source.fixAll.modellint"
OPTIONS = types.CodeActionOptions(
    code_action_kinds=[types.CodeActionKind.QuickFix, FIX_ALL],
    resolve_provider=True,
)


async def offered(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    """Return what can be done about the findings in a range, and about all of the file."""
    uri = params.text_document.uri
    owner = ls.desk.owner(uri)
    known = await ls.desk.fresh(owner) if owner is not None else None
    if known is None or owner is None:
        return []
    extent, cell = _extent(ls, known.document, uri, params.range)
    actions: list[types.CodeAction] = []
    touched = [d for d in known.shown if d.cell == cell and _touches(d.span, extent)]
    if touched and _asked(types.CodeActionKind.QuickFix, params):
        pair = await ls.desk.with_fixes(owner)
        if pair is not None:
            document, report = pair
            actions += _quick_fixes(ls, document, report.diagnostics, extent, cell, params)
            actions += _suppressions(ls, document, touched, params)
    explicit = params.context.only is not None
    if _asked(FIX_ALL, params) and (explicit or any(_is_safe(action) for action in actions)):
        action = types.CodeAction("Fix all safe modellint findings", FIX_ALL, data={"uri": owner})
        if _resolves(ls) or (action := await resolved(ls, action)).edit is not None:
            actions.append(action)
    return actions


async def resolved(ls: Server, action: types.CodeAction) -> types.CodeAction:
    """Return an action of `offered` with its edit, which is worked out only now."""
    uri = action.data.get("uri") if isinstance(action.data, dict) else None
    done = await ls.desk.fixed(uri) if isinstance(uri, str) else None
    if done is not None and done[1].changed:
        document, file = done
        action.edit = _workspace_edit(ls, document, rewritten(document, file.after))
    return action


def _quick_fixes(
    ls: Server,
    document: Open,
    findings: Iterable[Diagnostic],
    extent: Span,
    cell: int | None,
    params: types.CodeActionParams,
) -> Iterator[types.CodeAction]:
    for finding in findings:
        if finding.fix is None or finding.cell != cell or not _touches(finding.span, extent):
            continue
        safe = finding.fix.applicability is Applicability.SAFE
        yield types.CodeAction(
            _title(finding, finding.fix),
            types.CodeActionKind.QuickFix,
            diagnostics=_matching(finding, params),
            is_preferred=safe or None,
            edit=_workspace_edit(ls, document, finding.fix.edits),
        )


def _title(finding: Diagnostic, fix: Fix) -> str:
    unsafe = "" if fix.applicability is Applicability.SAFE else " (unsafe: changes behaviour)"
    return f"{finding.code}: {fix.message}{unsafe}"


def _suppressions(
    ls: Server, document: Open, findings: Iterable[Diagnostic], params: types.CodeActionParams
) -> Iterator[types.CodeAction]:
    for finding in findings:
        if (edit := suppression(document, finding)) is not None:
            yield types.CodeAction(
                f"Suppress {finding.code} ({finding.name}) on this line",
                types.CodeActionKind.QuickFix,
                diagnostics=_matching(finding, params),
                edit=_workspace_edit(ls, document, [edit]),
            )


def _workspace_edit(ls: Server, document: Open, edits: Iterable[Edit]) -> types.WorkspaceEdit:
    changes = {
        uri: [ls.protocol._converter.structure(edit, types.TextEdit) for edit in group]
        for uri, group in as_changes(document, edits, ls.desk.encoding).items()
    }
    workspace = ls.client_capabilities.workspace
    if workspace is None or workspace.workspace_edit is None or not workspace.workspace_edit.document_changes:
        return types.WorkspaceEdit(changes=changes)
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, document.part(uri)[1]), group)
            for uri, group in changes.items()
        ]
    )


def _matching(finding: Diagnostic, params: types.CodeActionParams) -> list[types.Diagnostic] | None:
    line = finding.span.start.row - 1
    same = [d for d in params.context.diagnostics if d.code == finding.code and d.range.start.line == line]
    return same or None


def _extent(ls: Server, document: Open, uri: str, extent: types.Range) -> tuple[Span, int | None]:
    text, _, cell = document.part(uri)
    ends = (text.position(place.line, place.character, ls.desk.encoding) for place in (extent.start, extent.end))
    return Span(*ends), cell


def _touches(span: Span, extent: Span) -> bool:
    return span.start <= extent.end and extent.start <= span.end


def _asked(kind: str, params: types.CodeActionParams) -> bool:
    only = params.context.only
    names = None if only is None else [getattr(name, "value", name) for name in only]
    kind = str(getattr(kind, "value", kind))
    return names is None or any(kind == name or kind.startswith(f"{name}.") for name in names)


def _is_safe(action: types.CodeAction) -> bool:
    return bool(action.is_preferred)


def _resolves(ls: Server) -> bool:
    text: Any = ls.client_capabilities.text_document
    able = text.code_action.resolve_support if text is not None and text.code_action is not None else None
    return able is not None and "edit" in able.properties
