"""Conditions over constants: `split == "train"`, `phase in ("val", "test")`, `not is_train`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from modellint.static.constants import compared
from modellint.static.origins.values import Origin

if TYPE_CHECKING:
    from modellint.static.origins.resolver import Resolver

_TEXT_METHODS = frozenset({"startswith", "endswith", "lower", "upper", "strip"})


def outcome(resolver: Resolver, origin: Origin) -> tuple[Any] | None:
    """Return the one constant that an expression must be, in a tuple; None where it is not known."""
    node = origin.node
    if isinstance(node, ast.Constant):
        return (node.value,)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return negated(resolver.constant(origin.at(node.operand)))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        known = resolver.constant(origin.at(node.operand))
        return (-known[0],) if known is not None and isinstance(known[0], (int, float)) else None
    if isinstance(node, ast.BoolOp):
        return _boolean(resolver, origin, node)
    if isinstance(node, ast.Compare):
        return _compared(resolver, origin, node)
    if isinstance(node, ast.Call):
        return _called(resolver, origin, node)
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        items = [resolver.constant(origin.at(item)) for item in node.elts]
        return None if None in items else (tuple(item[0] for item in items if item is not None),)
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.IfExp)):
        found = resolver.origins(origin)
        if not found:
            return None
        first: tuple[Any] | None = None
        for one in found:
            known = resolver.constant(one) if one.node is not node and not one.path else None
            if known is None:
                return None
            first = first or known
            if known[0] != first[0] or type(known[0]) is not type(first[0]):
                return None
        return first
    return None


def negated(known: tuple[Any] | None) -> tuple[bool] | None:
    """Return `not` of a constant."""
    return None if known is None else (not known[0],)


def _boolean(resolver: Resolver, origin: Origin, node: ast.BoolOp) -> tuple[Any] | None:
    decisive = isinstance(node.op, ast.Or)
    unknown = False
    last: tuple[Any] | None = None
    for value in node.values:
        last = resolver.constant(origin.at(value))
        if last is None:
            unknown = True
        elif bool(last[0]) is decisive:
            return last
    return None if unknown else last


def _compared(resolver: Resolver, origin: Origin, node: ast.Compare) -> tuple[bool] | None:
    if len(node.ops) != 1:
        return None
    left = resolver.constant(origin.at(node.left))
    right = None if left is None else resolver.constant(origin.at(node.comparators[0]))
    if left is None or right is None:
        return None
    holds = compared(node.ops[0], left[0], right[0])
    return None if holds is None else (holds,)


def _called(resolver: Resolver, origin: Origin, node: ast.Call) -> tuple[Any] | None:
    func = node.func
    if isinstance(func, ast.Name) and func.id in ("bool", "str") and len(node.args) == 1:
        known = resolver.constant(origin.at(node.args[0]))
        return None if known is None else ((bool if func.id == "bool" else str)(known[0]),)
    if isinstance(func, ast.Attribute) and func.attr in _TEXT_METHODS and not node.keywords:
        text = resolver.constant(origin.at(func.value))
        if text is None or not isinstance(text[0], str):
            return None
        given = [resolver.constant(origin.at(item)) for item in node.args]
        if None not in given:
            try:
                return (getattr(text[0], func.attr)(*(g[0] for g in given if g is not None)),)
            except TypeError:
                return None
    return None
