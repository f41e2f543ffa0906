"""Write a truth value where a text stands for it: `pretrained="false"` becomes `pretrained=False`."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from modellint.catalog import Rule
from modellint.diagnostic import Diagnostic
from modellint.fixing.document import Change, Document, Replacement
from modellint.fixing.names import last_name, spelled

_TRUE = frozenset({"true", "yes", "on", "1", "t", "y"})
_FALSE = frozenset({"false", "no", "off", "0", "f", "n", "none", "null"})


def fix(document: Document, finding: Diagnostic, rule: Rule) -> Change | None:
    """Replace the marked text, itself or in the variable that holds it for this call alone."""
    marked = document.at(finding.span, cst.BaseExpression)
    if isinstance(marked, cst.Call):
        return _flag(document, marked) if last_name(marked) == "add_argument" else None
    named = isinstance(marked, cst.Name)
    literal = _only_value(document, marked) if isinstance(marked, cst.Name) else marked
    value = _truth(literal)
    if literal is None or value is None:
        return None
    return Change(document.replaced(literal, cst.Name(str(value))), f"Write `{value}`", safe=not named)


def _truth(node: cst.BaseExpression | None) -> bool | None:
    if not isinstance(node, cst.SimpleString) or not isinstance(node.evaluated_value, str):
        return None
    word = node.evaluated_value.strip().lower()
    return True if word in _TRUE else False if word in _FALSE else None


def _only_value(document: Document, name: cst.Name) -> cst.BaseExpression | None:
    """Return what is assigned to a variable that is used nowhere else."""
    mentions = m.findall(document.module, m.Name(name.value))
    for mention in mentions:
        target = document.parent(mention)
        if isinstance(target, cst.AssignTarget) and len(mentions) == 2:
            assignment = document.parent(target)
            return assignment.value if isinstance(assignment, cst.Assign) else None
    return None


def _flag(document: Document, call: cst.Call) -> Change | None:
    """`type=bool` becomes the action that argparse has for it, which takes `--flag` and `--no-flag`."""
    named = {arg.keyword.value for arg in call.args if arg.keyword is not None}
    flags = [arg.value for arg in call.args if arg.keyword is None]
    dashed = all(isinstance(f, cst.SimpleString) and str(f.evaluated_value).startswith("-") for f in flags)
    if not flags or not dashed or named & {"action", "choices", "const", "nargs", "metavar"}:
        return None
    action = spelled(document, "argparse.BooleanOptionalAction", call)

    def rewrite(node: cst.CSTNode) -> Replacement:
        assert isinstance(node, cst.Call)
        value = cst.parse_expression(action.text)
        return node.with_changes(
            args=[
                arg.with_changes(keyword=cst.Name("action"), value=value)
                if arg.keyword is not None and arg.keyword.value == "type"
                else arg
                for arg in node.args
            ]
        )

    module = document.rewritten({**action.rewrites, call: rewrite})
    return Change(module, f"Use `action={action.text}`")
