"""Call what is only mentioned: `model.eval` becomes `model.eval()`; and call before a `with` what cannot be entered."""

from __future__ import annotations

import libcst as cst

from modellint.catalog import Rule
from modellint.diagnostic import Diagnostic
from modellint.fixing.document import Change, Document, Replacement, leading_lines


def fix(document: Document, finding: Diagnostic, rule: Rule) -> Change | None:
    """Add the parentheses to the expression that the finding marks, or make a statement of the call in a `with`."""
    node = document.at(finding.span, cst.Call) or document.at(finding.span, cst.BaseExpression)
    if node is None:
        return None
    written = document.module.code_for_node(node)
    item = document.parent(node)
    if isinstance(item, cst.WithItem) and isinstance(node, cst.Call):
        module = _before_with(document, node, item)
        return Change(module, f"Call it before the block: `{written}`", safe=True) if module is not None else None
    if not isinstance(node, (cst.Attribute, cst.Name)):
        return None
    return Change(document.replaced(node, cst.Call(node)), f"Call it: `{written}()`", safe=True)


def _before_with(document: Document, call: cst.Call, item: cst.WithItem) -> cst.Module | None:
    block = document.parent(item)
    if not isinstance(block, cst.With) or item.asname is not None or document.block(block) is None:
        return None
    number = block.items.index(item)

    def rewrite(node: cst.CSTNode) -> Replacement:
        assert isinstance(node, cst.With)
        statement = cst.SimpleStatementLine([cst.Expr(call)], leading_lines=leading_lines(node))
        items = [other for n, other in enumerate(node.items) if n != number]
        if not items:
            return cst.FlattenSentinel([statement, *node.body.body])
        if number == len(items):
            items[-1] = items[-1].with_changes(comma=node.items[-1].comma)
        return cst.FlattenSentinel([statement, node.with_changes(items=items, leading_lines=[])])

    if len(block.items) == 1 and not isinstance(block.body, cst.IndentedBlock):
        return None
    return document.rewritten({block: rewrite})
