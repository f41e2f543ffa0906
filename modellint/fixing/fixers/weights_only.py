"""Load nothing but weights: `torch.load(path, weights_only=True)`, unless a whole model is loaded."""

from __future__ import annotations

import libcst as cst

from modellint.catalog import Rule
from modellint.diagnostic import Diagnostic
from modellint.fixing.arguments import argument, has_stars, with_argument
from modellint.fixing.document import Change, Document
from modellint.fixing.names import dotted, own, targets

_OF_MODELS = frozenset(
    {"eval", "train", "to", "cuda", "half", "float", "parameters", "state_dict", "modules", "forward"}
)


def fix(document: Document, finding: Diagnostic, rule: Rule) -> Change | None:
    """Set `weights_only=True` in the call that the finding marks."""
    call = document.at(finding.span, cst.Call)
    if call is None or (has_stars(call) and argument(call, "weights_only") is None):
        return None
    if document.enclosing(call, cst.ExceptHandler) is not None:
        return None  # the way out for a torch that does not know the argument
    if _is_whole_model(document, call) and "safe_globals" not in document.source.text:
        return None
    fresh = with_argument(call, "weights_only", cst.Name("True"))
    return Change(document.replaced(call, fresh), "Set `weights_only=True`")


def _is_whole_model(document: Document, call: cst.Call) -> bool:
    """Tell whether what is loaded is used as a model: called, switched, moved."""
    parent = document.parent(call)
    if isinstance(parent, cst.Attribute):
        return parent.attr.value in _OF_MODELS
    if isinstance(parent, cst.Call):
        return parent.func is call
    names = set(targets(parent))
    for inner in own(_whole(document, call)):
        if isinstance(inner, cst.Call):
            called = dotted(inner.func) or ""
            owner, _, method = called.rpartition(".")
            if called in names or (owner in names and method in _OF_MODELS):
                return True
    return False


def _whole(document: Document, call: cst.Call) -> cst.CSTNode:
    """Return what the scope of `call` consists of."""
    scope = document.scope(call)
    return scope.body if isinstance(scope, cst.FunctionDef) else scope
