"""Keep modules where torch looks for them: a list becomes an `nn.ModuleList`, a dict an `nn.ModuleDict`."""

from __future__ import annotations

import re

import libcst as cst

from modellint.catalog import Rule
from modellint.diagnostic import Diagnostic
from modellint.fixing.classes import is_initialised_before, of_attribute, owner_of, self_of
from modellint.fixing.document import Change, Document, Rewrite
from modellint.fixing.names import dotted, last_name, spelled

_LISTS, _DICTS = "ModuleList", "ModuleDict"
# What lists and dicts can do and their counterparts of torch cannot.
_MISSING = {
    _LISTS: {"remove", "index", "sort", "reverse", "copy", "count", "clear"},
    _DICTS: {"get", "setdefault", "copy", "fromkeys"},
}
_GROWS = {"append", "extend", "insert"}
_NESTED = re.compile(r" kept in an? \w+ of ")
"""What the message says of containers in containers, which torch's containers do not take."""

_LISTED = re.compile(r" kept in a (list|tuple)\b")
"""What it says of a variable's elements where that is no dict, whose keys only its own statements tell."""


def fix(document: Document, finding: Diagnostic, rule: Rule) -> Change | None:
    """Change every plain container that the class stores in the attribute which the finding is about."""
    node = document.at(finding.span, cst.Call) or document.at(finding.span, cst.BaseSmallStatement)
    method = document.scope(node) if node is not None else None
    owner = owner_of(document, method) if isinstance(method, cst.FunctionDef) else None
    attribute = _attribute(node, self_of(method)) if isinstance(method, cst.FunctionDef) and node else None
    if owner is None or attribute is None or _NESTED.search(finding.message):
        return None
    kinds: set[str] = set()
    rewrites: dict[cst.CSTNode, Rewrite] = {}
    imports: dict[cst.CSTNode, Rewrite] = {}
    for where, used in of_attribute(owner, attribute):
        value = _assigned(document, used)
        if value is not None and attribute not in _mentioned(value):
            kind = _kind(value)
            named = isinstance(value, cst.Name) and _LISTED.search(finding.message) is None
            if kind is None or named or not is_initialised_before(document, where, value):
                return None
            kinds.add(kind)
            made = spelled(document, f"torch.nn.{kind}", used)
            imports |= made.rewrites
            args = [] if _is_empty(value) else [cst.Arg(_parenthesised(value))]
            call = cst.Call(cst.parse_expression(made.text), args)
            rewrites[value] = lambda _, call=call: call  # type: ignore[misc]
    if len(kinds) != 1 or any(not _is_supported(document, u, *kinds) for _, u in of_attribute(owner, attribute)):
        return None
    (kind,) = kinds
    return Change(document.rewritten({**imports, **rewrites}), f"Make `self.{attribute}` an `nn.{kind}`")


def _attribute(node: cst.CSTNode, me: str | None) -> str | None:
    """Return the attribute of `self` that a statement stores into, or a call adds to."""
    target: cst.CSTNode | None = None
    if isinstance(node, cst.Assign) and len(node.targets) == 1:
        target = node.targets[0].target
    elif isinstance(node, (cst.AnnAssign, cst.AugAssign)):
        target = node.target
    elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        target = node.func.value
    if isinstance(target, cst.Subscript):
        target = target.value
    name = dotted(target) if target is not None else None
    return name.split(".")[1] if name and name.count(".") == 1 and name.split(".")[0] == me else None


def _assigned(document: Document, used: cst.CSTNode) -> cst.BaseExpression | None:
    """Return the value that is assigned to `used`."""
    parent = document.parent(used)
    if isinstance(parent, cst.AssignTarget):
        parent = document.parent(parent)
        return parent.value if isinstance(parent, cst.Assign) else None
    return parent.value if isinstance(parent, cst.AnnAssign) and parent.target is used else None


def _mentioned(value: cst.BaseExpression) -> set[str]:
    """Return the attributes at the ends of a sum: `self.layers + [...]` is what `self.layers` is."""
    if isinstance(value, cst.BinaryOperation):
        return _mentioned(value.left) | _mentioned(value.right)
    return {value.attr.value} if isinstance(value, cst.Attribute) else set()


def _kind(value: cst.BaseExpression) -> str | None:
    """Return what takes the place of a container, None where its elements are not modules alone."""
    if isinstance(value, (cst.List, cst.Tuple)):
        return _LISTS if all(_is_element(element.value) for element in value.elements) else None
    if isinstance(value, (cst.ListComp, cst.GeneratorExp)):
        return _LISTS if _is_element(value.elt) else None
    if isinstance(value, cst.Dict):
        pairs = [element for element in value.elements if isinstance(element, cst.DictElement)]
        whole = len(pairs) == len(value.elements)
        return _DICTS if whole and all(_is_key(p.key) and _is_element(p.value) for p in pairs) else None
    if isinstance(value, cst.DictComp):
        return _DICTS if _is_key(value.key) and _is_element(value.value) else None
    if isinstance(value, cst.Call) and last_name(value) in ("list", "tuple") and isinstance(value.func, cst.Name):
        return _LISTS
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, (cst.Add, cst.Multiply)):
        sides = [value.left, value.right] if isinstance(value.operator, cst.Add) else [value.left]
        return _LISTS if {_kind(side) for side in sides} == {_LISTS} else None
    return _LISTS if isinstance(value, cst.Name) and value.value not in ("None", "True", "False") else None


def _is_element(value: cst.BaseExpression) -> bool:
    return isinstance(value, (cst.Call, cst.Name, cst.Attribute, cst.Subscript)) and dotted(value) != "None"


def _is_key(key: cst.BaseExpression) -> bool:
    """Tell whether `key` is a text without a dot, the only thing that a ModuleDict takes."""
    if isinstance(key, cst.SimpleString):
        return isinstance(key.evaluated_value, str) and "." not in key.evaluated_value
    return isinstance(key, cst.FormattedString) or (isinstance(key, cst.Call) and last_name(key) == "str")


def _is_empty(value: cst.BaseExpression) -> bool:
    return isinstance(value, (cst.List, cst.Tuple, cst.Dict)) and not value.elements


def _parenthesised(value: cst.BaseExpression) -> cst.BaseExpression:
    if isinstance(value, cst.Tuple) and not value.lpar:
        return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return value


def _is_supported(document: Document, used: cst.CSTNode, kind: str) -> bool:
    """Tell whether what the class does with the attribute works with torch's container, too."""
    parent = document.parent(used)
    if isinstance(parent, cst.Attribute):
        call = document.parent(parent)
        if parent.attr.value in _MISSING[kind]:
            return False
        if parent.attr.value in _GROWS and isinstance(call, cst.Call) and call.args:
            value = call.args[-1].value
            return _is_element(value) or (parent.attr.value == "extend" and _kind(value) == _LISTS)
        return True
    if kind == _DICTS and isinstance(parent, cst.Subscript):
        statement = document.parent(parent)
        if isinstance(statement, cst.AssignTarget):
            index = parent.slice[0].slice
            return len(parent.slice) == 1 and isinstance(index, cst.Index) and _is_key(index.value)
    return True
