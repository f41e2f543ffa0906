"""Load nothing but weights: `torch.load(path, weights_only=True)`, unless a whole model is loaded."""

from __future__ import annotations

import re

import libcst as cst
import libcst.matchers as m

from modellint.catalog import Rule
from modellint.diagnostic import Diagnostic
from modellint.fixing.arguments import argument, has_stars, with_argument
from modellint.fixing.document import Change, Document
from modellint.fixing.names import dotted, last_name, own, targets, words

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
    if not _is_state(document, call) and _is_named_for_data(document, call):
        return None
    if (
        _is_whole_model(document, call) or _is_saved_whole(document, call)
    ) and "safe_globals" not in document.source.text:
        return None
    fresh = with_argument(call, "weights_only", cst.Name("True"))
    return Change(document.replaced(call, fresh), "Set `weights_only=True`")


def _is_state(document: Document, call: cst.Call) -> bool:
    """Tell whether what is loaded goes right into a model: it holds tensors, whatever the file is named for."""
    parent = document.parent(call)
    around = document.parent(parent) if isinstance(parent, cst.Arg) else None
    return isinstance(around, cst.Call) and last_name(around) == "load_state_dict"


_DATA = re.compile(r"(^|_)(datasets?|vocab\w*|tokenizer|corpus)(_|$)")
_NAMED = re.compile(rf"{_DATA.pattern}|(^|_)(data|traindata|testdata|samples|examples|names)$")
"""Names of what is saved as objects of other classes than tensors: it does not load with `weights_only=True`."""


def _is_named_for_data(document: Document, call: cst.Call) -> bool:
    """Tell whether what is loaded, or the file that holds it, is named for data."""
    parent = document.parent(call)
    texts = [text.raw_value for text in m.findall(call, m.SimpleString()) if isinstance(text, cst.SimpleString)]
    named = (*(name.rpartition(".")[2] for name in targets(parent)), *map(_stem, texts))
    return any(map(_NAMED.search, named)) or any(map(_DATA.search, words(call)))


def _stem(path: str) -> str:
    return path.rsplit("/", 1)[-1].split(".", 1)[0]


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


def _is_saved_whole(document: Document, call: cst.Call) -> bool:
    """Tell whether the file saves an object to the very path that is loaded, and not a dictionary of tensors."""
    path = argument(call, "f", 0)
    if path is None:
        return False
    for saved in m.findall(document.module, m.Call(m.Attribute(attr=m.Name("save")))):
        assert isinstance(saved, cst.Call)
        thing, target = argument(saved, "obj", 0), argument(saved, "f", 1)
        if target is not None and thing is not None and target.value.deep_equals(path.value):
            return isinstance(thing.value, (cst.Name, cst.Attribute)) and not _STATE.search(dotted(thing.value) or "")
    return False


_STATE = re.compile(r"state|dict|ckpt|check_?point|weights|params|opt", re.I)
"""Names of what is saved as a dictionary of tensors."""


def _whole(document: Document, call: cst.Call) -> cst.CSTNode:
    """Return what the scope of `call` consists of."""
    scope = document.scope(call)
    return scope.body if isinstance(scope, cst.FunctionDef) else scope
