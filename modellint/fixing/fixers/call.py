"""Call what is only mentioned: `model.eval` becomes `model.eval()`."""

from __future__ import annotations

import libcst as cst

from modellint.catalog import Rule
from modellint.diagnostic import Diagnostic
from modellint.fixing.document import Change, Document


def fix(document: Document, finding: Diagnostic, rule: Rule) -> Change | None:
    """Add the parentheses to the expression that the finding marks."""
    node = document.at(finding.span, cst.BaseExpression)
    if not isinstance(node, (cst.Attribute, cst.Name)):
        return None
    written = document.module.code_for_node(node)
    return Change(document.replaced(node, cst.Call(node)), f"Call it: `{written}()`", safe=True)
