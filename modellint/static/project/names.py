"""What an expression is called: the names in it, as they are written."""

from __future__ import annotations

import ast


def last_name(node: ast.expr) -> str | None:
    """Return `c` for `c`, `a.b.c` and `a.b.c(...)`, None for anything else."""
    if type(node) is ast.Call:
        node = node.func
    if type(node) is ast.Attribute:
        return node.attr
    return node.id if type(node) is ast.Name else None


def dotted_name(node: ast.expr) -> str | None:
    """Return `a.b.c` for a chain of attributes on a name, None for anything else."""
    if type(node) is ast.Name:
        return node.id
    parts: list[str] = []
    while type(node) is ast.Attribute:
        parts.append(node.attr)
        node = node.value
    if type(node) is not ast.Name:
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))
