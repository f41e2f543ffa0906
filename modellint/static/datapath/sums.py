"""Evaluations that only add up: whatever comes first, the sum is the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modellint.static.guards import own, values_of
from modellint.static.project import FunctionInfo
from modellint.static.project.names import holder, last_name, names_in
from modellint.static.project.trees import walk

_NUMBERS = re.compile(r"loss|acc(uracy)?|err(or)?|metric|iou|dice|correct", re.I)
"""How lists are called of which a mean is taken."""
_JOINS = frozenset({"cat", "concat", "concatenate", "hstack", "vstack", "append", "tolist", "list", "str", "zip"})
_ROWS = (ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.JoinedStr)
_METERS = frozenset({"update", "add", "add_batch"})
_TELLS = frozenset({"set_description", "set_postfix", "eval", "to", "zero_grad"})
_SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Pass, ast.Continue, ast.Assert)


def adds_up(loop: ast.AST, scope: FunctionInfo) -> bool:
    """Tell whether nothing leaves a loop in `scope` but sums: no list of predictions, no file, no picture."""
    if not isinstance(loop, (ast.For, ast.AsyncFor)):
        return False
    statements = list(_statements(loop.body))
    adds = any(isinstance(one, (ast.AugAssign, ast.Expr)) for one in statements)
    measured = _measured(statements, scope)
    statements = [one for one in statements if _filled_by(one) not in measured]
    made = {
        target.id
        for one in loop.body
        if isinstance(one, ast.Assign) and isinstance(one.value, _NEW)
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    return adds and all(_keeps_nothing(one, scope, made) for one in statements)


_NEW = (ast.Call, ast.BinOp, ast.Compare)
"""What makes something new, which no lap before has seen: a name may be of what is there already."""


def _measured(statements: list[ast.stmt], scope: FunctionInfo) -> set[str]:
    """Return the lists that `statements` fill and of which metrics alone are taken: of one beside the other.

    `labels += list(y)`, `predicted += list(p)`, `confusion_matrix(labels, predicted)`: rows stay beside their labels.
    """
    filled = {name for one in statements if (name := _filled_by(one)) is not None}
    if not filled:
        return set()
    given = [[_joined(argument) for argument in call.args] for call in scope.calls_of(*_METRICS)]
    beside = [one for each in given if all(isinstance(a, ast.Name) and a.id in filled for a in each) for one in each]
    growing = [node for one in statements if _filled_by(one) for node in walk(one)]
    others = (node for node in own(scope, ast.Name) if isinstance(node.ctx, ast.Load) and node.id in filled)
    measured = {node.id for node in beside if isinstance(node, ast.Name)}
    return measured - {node.id for node in others if node not in beside and node not in growing}


def _filled_by(statement: ast.stmt) -> str | None:
    """Return the list that a statement makes longer: `rows += list(x)`, `rows.extend(x)`, `rows.append(x)`."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.Call(func=func)):
            return name if last_name(func) in ("list", "tolist") else None
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend"))):
            return name
    return None


def _joined(argument: ast.expr) -> ast.expr:
    """Return the list of which an argument is joined: `rows` of `np.concatenate(rows)`."""
    match argument:
        case ast.Call(args=[rows]) if last_name(argument) in _JOINS:
            return rows
    return argument


_METRICS = (
    *("confusion_matrix", "accuracy_score", "balanced_accuracy_score", "f1_score", "precision_score", "recall_score"),
    *("roc_auc_score", "average_precision_score", "classification_report", "precision_recall_fscore_support"),
    *("cohen_kappa_score", "matthews_corrcoef", "mean_squared_error", "mean_absolute_error", "r2_score"),
)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a block that are run one after the other, and what else there is as it is."""
    for statement in body:
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            yield from _statements(statement.body)
        elif isinstance(statement, (ast.If, ast.For)):
            yield from _statements([*statement.body, *statement.orelse])
        else:
            yield statement


def _keeps_nothing(statement: ast.stmt, scope: FunctionInfo, made: set[str]) -> bool:
    """Tell whether a statement leaves no rows behind; what goes into what each lap has `made` is of the lap."""
    if not isinstance(statement, _SIMPLE) or any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in walk(statement)):
        return False
    if isinstance(statement, ast.Expr):
        return _is_harmless(statement.value, scope)
    if isinstance(statement, ast.AugAssign):
        sliced = any(isinstance(node, ast.Slice) for node in walk(statement.target))  # a row of its own for each batch
        return not sliced and not _is_row(statement.target, scope) and not _is_row(statement.value, scope)
    if isinstance(statement, ast.Assign):
        kept = [target for target in statement.targets if not _is_a_place_in(target, made)]
        into = [node for target in kept for node in walk(target)]
        if any(isinstance(node, (ast.Attribute, ast.Subscript)) for node in into):
            return False
        grows = any(isinstance(node, ast.Name) and node.id in names_in(statement.value) for node in into)
        return not grows or not _is_row(statement.value, scope)
    return True


def _is_a_place_in(target: ast.expr, made: set[str]) -> bool:
    """Tell whether a target is a place in one of the variables `made`: `predicted[predicted >= 0.5]`."""
    owner = holder(target)
    return owner is not target and isinstance(owner, ast.Name) and owner.id in made


def _is_harmless(call: ast.expr, scope: FunctionInfo) -> bool:
    """Tell whether a statement keeps but numbers of a batch: `losses.append(loss.item())`, `meter.update(x)`."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return isinstance(call, ast.Constant)
    owner, name = call.func.value, call.func.attr
    if name == "append":
        named = _NUMBERS.search(last_name(owner) or "") is not None
        return named and len(call.args) == 1 and last_name(call.args[0]) in ("item", "loss")
    if name not in _METERS:
        return name in _TELLS
    rows = any(_is_row(given, scope) for given in call.args)
    return not rows and not _is_row(owner, scope) and last_name(owner) != scope.self_name


def _is_row(value: ast.expr, scope: FunctionInfo) -> bool:
    """Tell whether a value is text, or a list in which one thing comes before the other, at once or by its name."""
    made = values_of(scope, value.id) if isinstance(value, ast.Name) else [value]
    nodes = [node for one in made for node in walk(one)]
    return any(
        isinstance(node, _ROWS)
        or (isinstance(node, ast.Call) and last_name(node) in _JOINS)
        or (isinstance(node, ast.Attribute) and node.attr in ("r_", "c_"))
        or (isinstance(node, ast.Constant) and isinstance(node.value, str) and node in made)
        for node in nodes
    )
