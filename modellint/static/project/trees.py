"""Texts into syntax trees: whole files, and single functions of a file whose tree was let go of."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

FunctionNode: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = frozenset({"body", "handlers", "orelse", "finalbody", "cases"})
_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST


def parse_text(text: str, path: Path) -> ast.Module:
    """Parse a program; raise `SyntaxError` where it is none of this Python."""
    tree: ast.Module = compile(text, str(path), "exec", _ONLY_AST, dont_inherit=True)
    return tree


def rows_of(node: ast.stmt) -> tuple[int, int]:
    """Return the first row of a statement, decorators included, and the last."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)]), node.end_lineno or node.lineno


def parse_function(lines: Sequence[str], rows: tuple[int, int], path: Path) -> FunctionNode | None:
    """Parse the definition in `rows`, counted from 1, of a file; the nodes stand where they stand in the file.

    Returns None where these rows are no definition by themselves.
    """
    first, last = rows
    text = "\n".join(lines[first - 1 : last])
    in_block = text[:1].isspace()  # which it cannot stand without
    try:
        (node,) = parse_text("\n" * (first - 2) + ("if 1:\n" if in_block else "\n" * (first > 1)) + text, path).body
        if isinstance(node, ast.If):
            (node,) = node.body
    except (SyntaxError, ValueError):
        return None
    return node if isinstance(node, FUNCTIONS) and rows_of(node) == rows else None


def functions_in(nodes: Sequence[ast.AST]) -> Iterator[FunctionNode]:
    """Yield the definitions of functions below `nodes`, each after those inside it, else in the order of the text."""
    stack: list[ast.AST] = list(reversed(nodes))
    while stack:
        node = stack.pop()
        if isinstance(node, FUNCTIONS):
            yield from functions_in(node.body)
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from functions_in(node.body)
        else:
            for name in reversed(node._fields):
                if name in _BLOCKS:
                    stack.extend(reversed(getattr(node, name)))
