"""Statements put into a `with` block, with their comments and the indentation of their surroundings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import libcst as cst

from modellint.fixing.document import Document, Replacement, Rewrite, Statement, leading_lines


def rest_of_block(document: Document, statement: cst.CSTNode) -> list[Statement]:
    """Return the statements behind `statement` in its block; in a notebook's top level, in its cell."""
    block = document.block(statement)
    if block is None:
        return []
    body = list(block.body)
    cell = document.cell(statement)
    rest = body[next(n for n, inner in enumerate(body) if inner is statement) + 1 :]
    return [
        inner
        for inner in rest
        if isinstance(inner, (cst.SimpleStatementLine, cst.BaseCompoundStatement)) and document.cell(inner) == cell
    ]


def with_block(
    document: Document,
    manager: cst.BaseExpression,
    inside: Sequence[Statement],
    *,
    head: cst.SimpleStatementLine | None = None,
    also: Mapping[cst.CSTNode, Rewrite] = MappingProxyType({}),
) -> cst.Module | None:
    """Return the module with `inside`, statements that follow each other, under `with manager:`.

    `head` is the statement before them whose place the `with` takes, with its comments; without it, the `with`
    goes under the comments that stand above the first of them. None where a notebook would show less than before.
    """
    if _is_displayed(document, inside[-1]):
        return None
    block = document.block(inside[0])
    indent = block.indent if isinstance(block, cst.IndentedBlock) else None
    first = head if head is not None else inside[0]

    assert block is not None
    numbers = [n for n, inner in enumerate(block.body) if inner is first or inner in inside]

    def rewrite_block(node: cst.CSTNode) -> Replacement:
        assert isinstance(node, (cst.IndentedBlock, cst.Module))
        shift = len(node.body) - len(block.body)  # an import that came before them
        taken = [node.body[shift + n] for n in numbers]
        lines = leading_lines(taken[0])
        if head is not None:
            taken = taken[1:]
            trailing = head.trailing_whitespace
        else:
            taken[0] = taken[0].with_changes(leading_lines=[])
            trailing = cst.TrailingWhitespace()
        inner = cst.IndentedBlock(body=taken, header=trailing, indent=indent)
        wrapped = cst.With(items=[cst.WithItem(manager)], body=inner, leading_lines=lines)
        start, end = shift + numbers[0], shift + numbers[-1] + 1
        return node.with_changes(body=[*node.body[:start], wrapped, *node.body[end:]])

    return document.rewritten({**also, block: rewrite_block})


def _is_displayed(document: Document, statement: Statement) -> bool:
    """Tell whether a notebook prints the value of `statement`, the last one of a cell."""
    cell = document.cell(statement)
    if cell is None or document.block(statement) is not document.module:
        return False
    last = not rest_of_block(document, statement)
    return last and isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[-1], cst.Expr)
