"""Evaluations that only add up: whatever comes first, the sum is the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from modellint.static.project.names import last_name, names_in
from modellint.static.project.trees import walk

_NUMBERS = re.compile(r"loss|acc|err|score|metric|correct|count", re.I)
_JOINS = frozenset({"cat", "concat", "concatenate", "hstack", "vstack", "append", "tolist", "list"})
_ADDS = frozenset({"update", "add", "add_", "add_batch"})
_TELLS = frozenset({"print", "set_description", "set_postfix", "debug", "info", "eval", "to", "zero_grad"})
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Pass, ast.Continue, ast.Assert)


def adds_up(loop: ast.AST) -> bool:
    """Tell whether nothing leaves a loop but sums and means: no list of predictions, no file, no picture."""
    if not isinstance(loop, (ast.For, ast.AsyncFor)):
        return False
    statements = list(_statements(loop.body))
    return all(map(_keeps_nothing, statements)) and any(map(_adds, statements))


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a block that are run one after the other, and what else there is as it is."""
    for statement in body:
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            yield from _statements(statement.body)
        elif isinstance(statement, (ast.If, ast.For)):
            yield from _statements([*statement.body, *statement.orelse])
        else:
            yield statement


def _adds(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return last_name(statement.value) in _ADDS or _keeps_a_number(statement.value)
    return isinstance(statement, ast.AugAssign)


def _keeps_nothing(statement: ast.stmt) -> bool:
    if not isinstance(statement, _SIMPLE) or any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in walk(statement)):
        return False
    if isinstance(statement, ast.Expr):
        known = last_name(statement.value) in _ADDS | _TELLS or isinstance(statement.value, ast.Constant)
        return known or _keeps_a_number(statement.value)
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets: Sequence[ast.expr] = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if any(isinstance(node, (ast.Attribute, ast.Subscript)) for target in targets for node in walk(target)):
            return isinstance(statement, ast.AugAssign) and not _is_row(statement.value)
        return statement.value is None or not (_grows(targets, statement) and _is_row(statement.value))
    return True


def _keeps_a_number(call: ast.expr) -> bool:
    """Tell whether one number of a batch is put into a list: `losses.append(loss.item())`."""
    if not isinstance(call, ast.Call) or last_name(call) != "append" or len(call.args) != 1:
        return False
    given = call.args[0]
    return last_name(given) == "item" or _NUMBERS.search(last_name(given) or "") is not None


def _grows(targets: Sequence[ast.expr], statement: ast.Assign | ast.AnnAssign | ast.AugAssign) -> bool:
    """Tell whether an assignment adds to what was there: `x += y`, `x = cat((x, y))`."""
    if isinstance(statement, ast.AugAssign):
        return True
    written = {name for target in targets for name in names_in(target)}
    return statement.value is not None and not written.isdisjoint(names_in(statement.value))


def _is_row(value: ast.expr) -> bool:
    """Tell whether a value is text, or is made with a list in which one thing comes before the other."""
    if isinstance(value, ast.JoinedStr) or (isinstance(value, ast.Constant) and isinstance(value.value, str)):
        return True
    return any(
        isinstance(node, (ast.List, ast.ListComp)) or (isinstance(node, ast.Call) and last_name(node) in _JOINS)
        for node in walk(value)
    )
