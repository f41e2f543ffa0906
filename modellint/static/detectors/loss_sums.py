"""Losses that are differentiated and added up or collected: each has a graph, whatever the model is it came of."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import NamedTuple

from modellint.static.context import FileContext
from modellint.static.family import under_switch
from modellint.static.flow.relevance import hook_of
from modellint.static.flow.values import TRAIN
from modellint.static.flow.vocabulary import OTHER_FRAMEWORKS
from modellint.static.guards import own, path_to, targets_of
from modellint.static.naming import is_test_file
from modellint.static.project import FunctionInfo
from modellint.static.project.names import names_in

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


class LossSum(NamedTuple):
    """A place that adds a loss to a sum, or to a list, of which nothing but a report becomes."""

    function: FunctionInfo
    node: ast.AugAssign | ast.Call
    total: str
    loss: str


def loss_sums(context: FileContext) -> Iterator[LossSum]:
    """Yield where a loop adds up what it has differentiated in the same turn, or is about to, with its graph."""
    module = context.module
    roots = {made.module.split(".")[0] for made in module.imports.values()}
    if is_test_file(module.path) or "torch" not in roots or not roots.isdisjoint(OTHER_FRAMEWORKS):
        return
    for function in (module.body, *module.functions):
        for node in own(function, ast.AugAssign):
            loop = next((n for n in reversed(path_to(function, node)) if isinstance(n, _LOOPS)), None)
            loss = _differentiated_part(node, loop, function, context) if loop is not None else None
            if loss is None or under_switch(function, node) or _is_wanted(node.target, loop, function):
                continue
            yield LossSum(function, node, ast.unparse(node.target), loss)


def losses_of_steps(context: FileContext) -> Iterator[LossSum]:
    """Yield where a step that a library differentiates for its class puts its loss into an attribute, too."""
    for function in context.module.functions:
        hook = hook_of(function, context.project, context.knowledge) if function.cls is not None else None
        losses = _returned_as_losses(function) if hook is not None and hook.mode == TRAIN else frozenset()
        for node in own(function, ast.AugAssign):
            if isinstance(node.value, ast.Name) and node.value.id in losses:
                yield LossSum(function, node, ast.unparse(node.target), node.value.id)
        for call in function.calls_of("append"):
            for given in call.args:
                if isinstance(call.func, ast.Attribute) and isinstance(given, ast.Name) and given.id in losses:
                    yield LossSum(function, call, ast.unparse(call.func.value), given.id)


def _returned_as_losses(function: FunctionInfo) -> frozenset[str]:
    """Return the variables that a step returns as its loss, each bound once: `return loss`, `return {"loss": loss}`."""
    found = set()
    for node in own(function, ast.Return):
        values = [node.value]
        if isinstance(node.value, ast.Dict):
            pairs = zip(node.value.keys, node.value.values, strict=True)
            values = [value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "loss"]
        found |= {value.id for value in values if isinstance(value, ast.Name)}
    stored = [node.id for node in own(function, ast.Name) if isinstance(node.ctx, ast.Store)]
    return frozenset(name for name in found if stored.count(name) == 1)


def _differentiated_part(
    node: ast.AugAssign, loop: ast.AST | None, function: FunctionInfo, context: FileContext
) -> str | None:
    """Return the term of what is added that still has the graph which a gradient was computed through."""
    for term in _terms(node.value):
        if isinstance(term, ast.Call):
            if _hands_back_a_loss(term, None, function, context):
                return ast.unparse(term.func) + "()"
        elif isinstance(term, ast.Name) and _has_graph(term.id, node, loop, function, context):
            return term.id
    return None


def _terms(value: ast.expr) -> Iterator[ast.expr]:
    """Yield the names and calls that a sum or product is made of."""
    if isinstance(value, ast.BinOp):
        yield from _terms(value.left)
        yield from _terms(value.right)
    else:
        yield value


def _has_graph(
    name: str, node: ast.AugAssign, loop: ast.AST | None, function: FunctionInfo, context: FileContext
) -> bool:
    """Tell whether the variable that is added holds, right there, what the turn of the loop differentiates."""
    bound = [one for one in own(function, ast.Assign) if any(name in names_in(t) for t in targets_of(one))]
    made = max((one for one in bound if one.lineno < node.lineno), key=lambda one: one.lineno, default=None)
    if made is None:
        return False
    for row in _differentiated(function, loop).get(name, ()):
        first, last = sorted((row, node.lineno))
        if not any(first < one.lineno < last for one in bound):
            return True
    path = _place_in(made.targets[0], name)
    return isinstance(made.value, ast.Call) and _hands_back_a_loss(made.value, path, function, context)


def _place_in(target: ast.expr, name: str) -> int | None:
    """Return which of several targets a variable is, None where it is the only one."""
    items = target.elts if isinstance(target, ast.Tuple) else []
    return next((i for i, item in enumerate(items) if isinstance(item, ast.Name) and item.id == name), None)


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


def _hands_back_a_loss(call: ast.Call, place: int | None, function: FunctionInfo, context: FileContext) -> bool:
    """Tell whether a function of the project returns what it has differentiated, with its graph, be it at a place."""
    callee = _callee(call, function, context)
    if callee is None:
        return False
    losses = _differentiated(callee)
    given = [node.value for node in own(callee, ast.Return)]
    if place is not None:
        given = [dict(enumerate(v.elts)).get(place) if isinstance(v, ast.Tuple) else None for v in given]
    return bool(given) and all(isinstance(v, ast.Name) and _is_one_of(v.id, losses, callee) for v in given)


def _callee(call: ast.Call, function: FunctionInfo, context: FileContext) -> FunctionInfo | None:
    func = call.func
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == function.self_name:
        return context.project.method(function.cls, func.attr) if function.cls is not None else None
    symbol = context.project.resolve_in(function, func)
    return symbol.target if symbol is not None and isinstance(symbol.target, FunctionInfo) else None


def _is_one_of(name: str, losses: dict[str, list[int]], callee: FunctionInfo) -> bool:
    """Tell whether a function differentiates a variable, and gives it no other value from then on."""
    last = max(losses.get(name, [math.inf]))
    stored = (node.lineno for node in own(callee, ast.Name) if isinstance(node.ctx, ast.Store) and node.id == name)
    return all(row < last for row in stored) and name in losses


def _is_wanted(total: ast.expr, loop: ast.AST | None, function: FunctionInfo) -> bool:
    """Tell whether a gradient is computed of a sum, or it begins anew in each turn, or leaves the graph there."""
    text = ast.unparse(total)
    while isinstance(total, ast.Subscript):
        total = total.value
    owner = ast.unparse(total)
    for call in function.calls_of("backward", "grad"):
        if any(isinstance(part, ast.expr) and ast.unparse(part) == owner for part in ast.walk(call)):
            return True
    if any(call.keywords for call in function.calls_of("backward")):
        return True  # `retain_graph=True`: graphs are kept on purpose
    anew = (t for n in own(function, ast.Assign) if loop in path_to(function, n) for t in targets_of(n))
    return any(ast.unparse(target) in (text, owner) for target in anew)
