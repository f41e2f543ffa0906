"""What a hover shows: the rule of the finding under the cursor, or the rules that a comment silences."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from modellint.catalog import Rule
from modellint.diagnostic import Position
from modellint.server.application import Server
from modellint.server.documents import Open
from modellint.sources.suppressions import Suppression, find_suppressions

_ANY = "Silences **every** finding of modellint here. `# modellint: ignore[CODE]` names the one that is meant."


async def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    """Return the text for a position, None where there is neither a finding nor a comment of ours."""
    owner = ls.desk.owner(params.text_document.uri)
    known = await ls.desk.fresh(owner) if owner is not None else None
    if known is None:
        return None
    document = known.document
    text, _, cell = document.part(params.text_document.uri)
    place = text.position(params.position.line, params.position.character, ls.desk.encoding)
    here = [d for d in known.shown if d.cell == cell and d.span.start <= place <= d.span.end]
    names = [d.code for d in here]
    pages = []
    comment = _comment(document, params.text_document.uri, place)
    if comment is not None:
        words = [entry for entry in comment.codes or () if entry.start <= place.column <= entry.end]
        names += [entry.text for entry in words or comment.codes or ()]
        pages += [_ANY] if comment.codes is None else []
    folder = ls.desk.folder(document.path)
    rules = {rule.code: rule for name in names if (rule := folder.rule(document.path, name)) is not None}
    pages += ["\n".join(page(rule)) for rule in rules.values()]
    if not pages:
        return None
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(pages)))


def _comment(document: Open, uri: str, place: Position) -> Suppression | None:
    text = document.part(uri)[0]
    content = text.content.replace("\r\n", "\n").replace("\r", "\n")
    found = find_suppressions(content, rust=document.path.suffix == ".rs")
    return next((s for s in found if s.row == place.row and s.column <= place.column <= s.end), None)


def page(rule: Rule) -> Iterator[str]:
    """Yield the lines of a rule's page as Markdown, without the examples."""
    yield f"**{rule.code}** `{rule.name}` ({rule.severity.value}): {rule.summary}"
    for title, text in (("What it does", rule.what), ("Why is this bad?", rule.why), ("Use instead", rule.use_instead)):
        if text.strip():
            yield f"\n#### {title}\n"
            yield text.strip()
    if rule.fix is not None:
        yield f"\n#### Fix ({rule.fix.safety.value})\n"
        yield rule.fix.text.strip()
    if rule.references:
        yield ""
        yield from (f"- [{title}]({url})" for title, url in rule.references)
