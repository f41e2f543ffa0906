"""Losses that are differentiated and added up or collected: each has a graph, whatever the model is it came of."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from modellint.static.context import FileContext
from modellint.static.flow.relevance import hook_of
from modellint.static.flow.values import TRAIN
from modellint.static.flow.vocabulary import OTHER_FRAMEWORKS
from modellint.static.guards import own, path_to, targets_of
from modellint.static.naming import is_test_file
from modellint.static.project import FunctionInfo
from modellint.static.project.names import names_in

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)


class LossSum(NamedTuple):
    """A place that adds a loss to a sum, or to a list, of which nothing but a report becomes."""

    function: FunctionInfo
    node: ast.AugAssign | ast.Call
    total: str
    loss: str


def loss_sums(context: FileContext) -> Iterator[LossSum]:
    """Yield where a loop adds up what it has differentiated in the same turn, or is about to, with its graph."""
    module = context.module
    roots = {made.module.split(".")[0] for made in module.imports.values() if not made.level}
    if is_test_file(module.path) or not roots.isdisjoint(OTHER_FRAMEWORKS):
        return
    for function in (module.body, *module.functions):
        for node in own(function, ast.AugAssign):
            if isinstance(node.op, ast.Add):
                loop = next((n for n in reversed(path_to(function, node)) if isinstance(n, _LOOPS)), None)
                loss = _differentiated_part(node, loop, function, context) if loop is not None else None
                if loss is not None and not _is_wanted(node.target, loop, function):
                    yield LossSum(function, node, ast.unparse(node.target), loss)


def losses_of_steps(context: FileContext) -> Iterator[LossSum]:
    """Yield where a step that a library differentiates for its class puts its loss into an attribute, too."""
    for function in context.module.functions:
        hook = hook_of(function, context.project, context.knowledge) if function.cls is not None else None
        losses = _returned_as_losses(function) if hook is not None and hook.mode == TRAIN else frozenset()
        for node in own(function, ast.AugAssign) if losses else ():
            if isinstance(node.op, ast.Add) and isinstance(node.value, ast.Name) and node.value.id in losses:
                yield LossSum(function, node, ast.unparse(node.target), node.value.id)
        for call in function.calls_of("append") if losses else ():
            given = call.args[0] if call.args else None
            if isinstance(call.func, ast.Attribute) and isinstance(given, ast.Name) and given.id in losses:
                yield LossSum(function, call, ast.unparse(call.func.value), given.id)


def _returned_as_losses(function: FunctionInfo) -> frozenset[str]:
    """Return the variables that a step returns as its loss, each bound once: `return loss`, `return {"loss": loss}`."""
    found = set()
    for node in own(function, ast.Return):
        values = [node.value]
        if isinstance(node.value, ast.Dict):
            keys = (key.value if isinstance(key, ast.Constant) else None for key in node.value.keys)
            values = [value for key, value in zip(keys, node.value.values, strict=True) if key == "loss"]
        found |= {value.id for value in values if isinstance(value, ast.Name)}
    stored = [node.id for node in own(function, ast.Name) if isinstance(node.ctx, ast.Store)]
    return frozenset(name for name in found if stored.count(name) == 1)


def _differentiated_part(
    node: ast.AugAssign, loop: ast.AST | None, function: FunctionInfo, context: FileContext
) -> str | None:
    """Return the term of what is added that still has the graph which a gradient was computed through."""
    for term in _terms(node.value):
        if isinstance(term, ast.Call):
            if _hands_back_a_loss(term, (), function, context):
                return ast.unparse(term.func) + "()"
        elif isinstance(term, ast.Name) and _has_graph(term.id, node, loop, function, context):
            return term.id
    return None


def _terms(value: ast.expr) -> Iterator[ast.expr]:
    """Yield the names and calls that a sum or product is made of."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, _ARITHMETIC):
        yield from _terms(value.left)
        yield from _terms(value.right)
    elif isinstance(value, (ast.Name, ast.Call)):
        yield value


def _has_graph(
    name: str, node: ast.AugAssign, loop: ast.AST | None, function: FunctionInfo, context: FileContext
) -> bool:
    """Tell whether the variable that is added holds, right there, what the turn of the loop differentiates."""
    bound = [one for one in own(function, ast.Assign) if any(name in names_in(t) for t in targets_of(one))]
    inside = sorted((one.lineno, one) for one in bound if loop in path_to(function, one))
    before = [one for row, one in inside if row < node.lineno]
    if not before:
        return False
    made = before[-1]
    for row in _differentiated(function, loop).get(name, ()):
        first, last = sorted((row, node.lineno))
        if made.lineno <= first and not any(first < other < last for other, _ in inside):
            return True
    if isinstance(made.value, ast.Call):
        path = _place_in(made.targets[0], name)
        return path is not None and _hands_back_a_loss(made.value, path, function, context)
    return False


def _place_in(target: ast.expr, name: str) -> tuple[int, ...] | None:
    """Return where a variable stands in a target: `()` for the whole, `(0,)` for the first of several."""
    if isinstance(target, ast.Name):
        return () if target.id == name else None
    if isinstance(target, (ast.Tuple, ast.List)):
        places = (i for i, item in enumerate(target.elts) if isinstance(item, ast.Name) and item.id == name)
        return next(((i,) for i in places), None)
    return None


def _differentiated(function: FunctionInfo, loop: ast.AST | None = None) -> dict[str, list[int]]:
    """Return the variables of which gradients are computed, in a loop or anywhere, each with the rows that do it.

    `loss.backward()`, `scaler.scale(loss).backward()`, `accelerator.backward(loss)`.
    """
    found: dict[str, list[int]] = {}
    for call in function.calls_of("backward"):
        if loop is not None and loop not in path_to(function, call):
            continue
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        scaled = owner.args[:1] if isinstance(owner, ast.Call) else []
        for value in (owner, *scaled, *call.args[:1]):
            if isinstance(value, ast.Name):
                found.setdefault(value.id, []).append(call.lineno)
    return found


def _hands_back_a_loss(call: ast.Call, path: tuple[int, ...], function: FunctionInfo, context: FileContext) -> bool:
    """Tell whether a function of the project returns what it has differentiated, with its graph."""
    callee = _callee(call, function, context)
    if callee is None:
        return False
    losses = _differentiated(callee)
    returned = [node.value for node in own(callee, ast.Return) if node.value is not None]
    if not losses or not returned:
        return False
    return all(_is_one_of(value, path, losses, callee) for value in returned)


def _callee(call: ast.Call, function: FunctionInfo, context: FileContext) -> FunctionInfo | None:
    func = call.func
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == function.self_name:
        return context.project.method(function.cls, func.attr) if function.cls is not None else None
    symbol = context.project.resolve_in(function, func)
    return symbol.target if symbol is not None and isinstance(symbol.target, FunctionInfo) else None


def _is_one_of(value: ast.expr, path: tuple[int, ...], losses: dict[str, list[int]], callee: FunctionInfo) -> bool:
    if path:
        if not isinstance(value, ast.Tuple) or path[0] >= len(value.elts):
            return False
        value = value.elts[path[0]]
    if not isinstance(value, ast.Name) or value.id not in losses:
        return False
    last = max(losses[value.id])
    stored = (n for n in own(callee, ast.Name) if isinstance(n.ctx, ast.Store) and n.id == value.id)
    return not any(last < node.lineno for node in stored)


def _is_wanted(total: ast.expr, loop: ast.AST | None, function: FunctionInfo) -> bool:
    """Tell whether a gradient is computed of a sum, or it begins anew in each turn, or leaves the graph there."""
    text = ast.unparse(total)
    while isinstance(total, ast.Subscript):
        total = total.value
    owner = ast.unparse(total)
    for call in function.calls_of("backward", "grad"):
        if owner in ast.unparse(call):
            return True
    if any(call.keywords for call in function.calls_of("backward")):
        return True  # `retain_graph=True`: graphs are kept on purpose
    anew = (t for n in own(function, ast.Assign) if loop in path_to(function, n) for t in targets_of(n))
    return any(ast.unparse(target) in (text, owner) for target in anew)
