"""Tie a functional dropout or norm to the mode: `training=self.training`, `dropout_p=p if self.training else 0.0`."""

from __future__ import annotations

import libcst as cst

from modellint.catalog import Rule
from modellint.diagnostic import Diagnostic
from modellint.fixing.arguments import argument, has_stars, with_argument
from modellint.fixing.document import Change, Document
from modellint.fixing.names import dotted, last_name, words


def fix(document: Document, finding: Diagnostic, rule: Rule) -> Change | None:
    """Repair the call that the finding marks, in a method of a module; the detector's options say what it takes."""
    call = document.at(finding.span, cst.Call)
    me = _module_instance(document, call) if call is not None else None
    if call is None or me is None or has_stars(call) or "not self.training" in finding.message:
        return None
    name = last_name(call)
    functions = rule.detector_options["functions"]
    entries = [e for qualified, e in functions.items() if qualified.rsplit(".", 1)[-1] == name]
    keywords = {"dropout_p"} if any(e.get("attention") for e in entries) else set(rule.detector_options["keywords"])
    flag = cst.Attribute(cst.Name(me), cst.Name("training"))
    if not entries or entries[0].get("attention"):
        position = entries[0].get("p") if entries else None
        return _attention(document, call, keywords, position, flag)
    keyword, position = _training(call, entries)
    given = argument(call, keyword, position)
    certain = given is not None and dotted(given.value) == f"{me}.train"  # the method was meant to be the flag
    changed = with_argument(call, keyword, flag, position)
    return Change(document.replaced(call, changed), f"Set `{keyword}={me}.training`", safe=certain)


def _attention(
    document: Document, call: cst.Call, keywords: set[str], position: int | None, flag: cst.Attribute
) -> Change | None:
    for keyword in sorted(keywords):
        given = argument(call, keyword, position)
        if given is None:
            continue
        chance = given.value
        if isinstance(chance, (cst.IfExp, cst.Lambda, cst.NamedExpr)) and not chance.lpar:
            chance = chance.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        tied = cst.IfExp(test=flag, body=chance, orelse=cst.Float("0.0"))
        changed = with_argument(call, keyword, tied, position)
        text = document.module.code_for_node(tied)
        return Change(document.replaced(call, changed), f"Set `{keyword}={text}`")
    return None


def _training(call: cst.Call, entries: list[dict[str, object]]) -> tuple[str, int | None]:
    """Return name and position of the argument that switches; `torch.dropout` has another name for it."""
    for entry in entries:
        keyword = str(entry.get("keyword", "training"))
        if argument(call, keyword) is not None:
            return keyword, None
    position = entries[0].get("training")
    return str(entries[0].get("keyword", "training")), position if isinstance(position, int) else None


def _module_instance(document: Document, call: cst.Call) -> str | None:
    """Return the name of `self` in the method around `call`, None outside methods of what looks like a module."""
    function = document.scope(call)
    while isinstance(function, cst.FunctionDef):
        owner = document.enclosing(function, cst.FunctionDef, cst.ClassDef)
        if isinstance(owner, cst.ClassDef):
            return _self_of(function) if _looks_like_module(owner) else None
        function = document.scope(function)
    return None


def _self_of(method: cst.FunctionDef) -> str | None:
    static = {"staticmethod", "classmethod"} & {last_name(d.decorator) for d in method.decorators}
    parameters = [*method.params.posonly_params, *method.params.params]
    return parameters[0].name.value if parameters and not static else None


def _looks_like_module(owner: cst.ClassDef) -> bool:
    bases = {last_name(base.value) for base in owner.bases}
    methods = {inner.name.value for inner in owner.body.body if isinstance(inner, cst.FunctionDef)}
    return bool(bases - {"object", "ABC", "Protocol"}) and (
        "forward" in methods or any("Module" in base for base in bases) or "training" in words(owner)
    )
