"""Take `torch.inference_mode` for `torch.no_grad`."""

from __future__ import annotations

import libcst as cst

from modellint.catalog import Rule
from modellint.diagnostic import Diagnostic
from modellint.fixing.document import Change, Document
from modellint.fixing.names import spelled


def fix(document: Document, finding: Diagnostic, rule: Rule) -> Change | None:
    """Rename the switch that the finding marks, called or not."""
    node = document.at(finding.span, cst.BaseExpression)
    name = node.func if isinstance(node, cst.Call) else node
    if not isinstance(name, (cst.Name, cst.Attribute)):
        return None
    fresh = spelled(document, "torch.inference_mode", name)
    expression = cst.parse_expression(fresh.text)
    module = document.rewritten({**fresh.rewrites, name: lambda _: expression})
    return Change(module, f"Use `{fresh.text}`")
