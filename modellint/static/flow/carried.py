"""What a lap of a loop may find that the one before has left: variables that it reads before it has surely set them."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from modellint.static.project.names import names_in
from modellint.static.project.trees import walk

_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def carried(loop: ast.For | ast.AsyncFor | ast.While) -> frozenset[str]:
    """Return the variables that the body of a loop sets, and reads on a way on which it has not set them before."""
    read: set[str] = set()
    bound = set() if isinstance(loop, ast.While) else set(names_in(loop.target))
    _run(loop.body, bound, read)
    stored = {n.id for s in loop.body for n in walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return frozenset(read & stored)


def _run(statements: Iterable[ast.stmt], bound: set[str], read: set[str]) -> None:
    """Add to `read` what statements read that is not in `bound`, and to `bound` what they set in any case."""
    for statement in statements:
        if isinstance(statement, _INNER):
            bound.add(statement.name)
        elif isinstance(statement, ast.If):
            _note(statement.test, bound, read)
            then, otherwise = set(bound), set(bound)
            _run(statement.body, then, read)
            _run(statement.orelse, otherwise, read)
            bound |= then & otherwise
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            _note(statement.iter, bound, read)
            _run([*statement.body, *statement.orelse], bound | set(names_in(statement.target)), read)
        elif isinstance(statement, ast.While):
            _note(statement.test, bound, read)
            _run([*statement.body, *statement.orelse], set(bound), read)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            for item in statement.items:
                _note(item, bound, read)
            _run(statement.body, bound, read)
        elif isinstance(statement, ast.Try):
            for block in (statement.body, *(handler.body for handler in statement.handlers), statement.orelse):
                _run(block, set(bound), read)
            _run(statement.finalbody, bound, read)
        else:
            _note(statement, bound, read)


def _note(node: ast.AST, bound: set[str], read: set[str]) -> None:
    names = [inner for inner in walk(node) if isinstance(inner, ast.Name)]
    read.update(name.id for name in names if isinstance(name.ctx, ast.Load) and name.id not in bound)
    if isinstance(node, ast.AugAssign):
        read.update(set(names_in(node.target)) - bound)
    bound.update(name.id for name in names if isinstance(name.ctx, ast.Store))
