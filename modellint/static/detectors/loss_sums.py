"""Losses that are differentiated and added up, or kept by a step: each has a graph, whatever model it came of."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from modellint.static.context import FileContext
from modellint.static.family import runs_without_gradients, under_switch
from modellint.static.flow.relevance import hook_of
from modellint.static.flow.values import TRAIN
from modellint.static.flow.vocabulary import MODEL_NAME, OTHER_FRAMEWORKS
from modellint.static.guards import conditions, loops_around, own, path_to, targets_of
from modellint.static.naming import is_test_file
from modellint.static.origins import Origin
from modellint.static.project import FunctionInfo
from modellint.static.project.names import holder, last_name, names_in


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
            loop = next(reversed(loops_around(function, node)), None)
            if loop is None:
                continue
            if begins_with_each_batch(function, node.lineno, ast.unparse(node.target)):
                continue
            loss = _differentiated_part(node, loop, function, context)
            if loss is None or _is_without_graph(function, node, context) or _is_wanted(node.target, loop, function):
                continue
            yield LossSum(function, node, ast.unparse(node.target), loss)


def begins_with_each_batch(function: FunctionInfo, row: int, total: str) -> bool:
    """Tell whether a sum begins anew for each batch of a loop, and a loop over numbers adds up: of a few networks, say.
    Their graphs are gone with the batch."""
    loops = [loop for loop in own(function, ast.For, ast.AsyncFor) if loop.lineno <= row <= (loop.end_lineno or 0)]
    loops.sort(key=lambda loop: loop.lineno)
    if len(loops) < 2 or last_name(loops[-1].iter) != "range" or not _BATCHES.match(ast.unparse(loops[-2].iter)):
        return False
    return any(
        loops[-2].lineno < node.lineno < loops[-1].lineno and total in map(ast.unparse, targets_of(node))
        for node in own(function, ast.Assign, ast.AnnAssign)
    )


_BATCHES = re.compile(r"(\w+\()*[\w.]*(loader|batches)\b")


def losses_of_steps(context: FileContext) -> Iterator[LossSum]:
    """Yield where a step that a library differentiates for its class puts its loss into an attribute, too."""
    for function in context.module.functions:
        hook = hook_of(function, context.project, context.knowledge) if function.cls is not None else None
        losses = _returned_as_losses(function) if hook is not None and hook.mode == TRAIN else frozenset()
        for node in own(function, ast.AugAssign):
            if isinstance(node.value, ast.Name) and node.value.id in losses:
                if not _is_without_graph(function, node, context):
                    yield LossSum(function, node, ast.unparse(node.target), node.value.id)
        for call in function.calls_of("append"):
            for given in call.args:
                if isinstance(call.func, ast.Attribute) and isinstance(given, ast.Name) and given.id in losses:
                    yield LossSum(function, call, ast.unparse(call.func.value), given.id)


def frees_graphs(function: FunctionInfo) -> bool:
    """Tell whether what a function differentiates was differentiated once and for all: nobody can do it again."""
    return not any(k.arg in _RETAINS for call in function.calls_of("backward") for k in call.keywords)


_RETAINS = frozenset({"retain_graph", "create_graph"})


def _is_without_graph(function: FunctionInfo, node: ast.AST, context: FileContext) -> bool:
    """Tell whether a sum is made where autograd is off: no graph hangs on it then."""
    return under_switch(function, node) or runs_without_gradients(function, context.project)


def _returned_as_losses(function: FunctionInfo) -> frozenset[str]:
    """Return the variables that a step returns as its loss, each bound once: `return loss`, `return {"loss": loss}`.

    Not what the step of the base class gave: that has been differentiated, and may be cut off.
    """
    found = set()
    for node in own(function, ast.Return):
        values = [node.value]
        if isinstance(node.value, ast.Dict):
            pairs = zip(node.value.keys, node.value.values, strict=True)
            values = [value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "loss"]
        found |= {value.id for value in values if isinstance(value, ast.Name)}
    read = _reading(function)
    return frozenset(
        name for name in found if len(read.made[name]) == 1 and not _is_inherited(read.made[name][0].value)
    )


def _is_inherited(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "super" for node in ast.walk(value))


class _Bound(NamedTuple):
    """A statement that binds a variable: where, to what, or to which of several that are returned."""

    row: int
    value: ast.expr
    place: int | None


class _Reading(NamedTuple):
    """What a function binds, differentiates and cuts off in place, by the names of the variables."""

    made: dict[str, list[_Bound]]
    differentiated: dict[str, list[ast.Call]]
    cut: frozenset[str]


def _reading(function: FunctionInfo) -> _Reading:
    known: _Reading | None = function.memo.get(_reading)
    if known is None:  # equivalent: spares a second reading
        made, differentiated = defaultdict[str, list[_Bound]](list), defaultdict[str, list[ast.Call]](list)
        for node in own(function, ast.Assign, ast.AnnAssign):
            for target in targets_of(node) if node.value is not None else ():
                items = target.elts if isinstance(target, ast.Tuple) else []
                for name in names_in(target):
                    place = next(
                        (i for i, item in enumerate(items) if isinstance(item, ast.Name) and item.id == name), None
                    )
                    made[name].append(_Bound(node.lineno, node.value, place))
        for call in function.calls_of("backward"):
            for name in _subjects(call):
                differentiated[name].append(call)
        cut = (call.func.value for call in function.calls_of("detach_") if isinstance(call.func, ast.Attribute))
        known = _Reading(made, differentiated, frozenset(map(ast.unparse, cut)))
        function.memo[_reading] = known
    return known


def _subjects(call: ast.Call) -> Iterator[str]:
    """Yield the variables that a call computes gradients of.

    `loss.backward()`, `(loss / 4).backward()`, `scaler.scale(loss).backward()`, `accelerator.backward(loss)`.
    """
    owner = call.func.value if isinstance(call.func, ast.Attribute) else call
    if _ENGINE.search(last_name(owner) or ""):
        given = call.args[:1]
    elif isinstance(owner, ast.Call):
        given = owner.args[:1]
    else:
        given = [owner]
    for value in given:
        yield from (term.id for term in _terms(value) if isinstance(term, ast.Name))


_ENGINE = re.compile(r"accelerator|engine|fabric|scaler$|strateg|manager|autograd|optim|amp$", re.I)
"""What is given a loss to differentiate, by its name; `net.backward(x)` of a network by hand is something else."""


def _terms(value: ast.expr) -> Iterator[ast.expr]:
    """Yield what a sum or product is made of."""
    if isinstance(value, ast.BinOp):
        yield from _terms(value.left)
        yield from _terms(value.right)
    else:
        yield value


def _differentiated_part(
    node: ast.AugAssign, loop: ast.AST, function: FunctionInfo, context: FileContext
) -> str | None:
    """Return the term of what is added that still has the graph which a gradient was computed through."""
    for term in _terms(node.value):
        if isinstance(term, ast.Call):
            if _hands_back_a_loss(term, None, function, context):
                return ast.unparse(term.func) + "()"
        elif isinstance(term, ast.Name) and _has_graph(term.id, node, loop, function, context):
            return term.id
    return None


def _has_graph(name: str, node: ast.AugAssign, loop: ast.AST, function: FunctionInfo, context: FileContext) -> bool:
    """Tell whether the variable that is added holds, right there, what the turn of the loop differentiates."""
    read = _reading(function)
    made = max((one for one in read.made[name] if one.row < node.lineno), key=lambda one: one.row, default=None)
    if made is None or name in read.cut:
        return False
    for call in read.differentiated[name]:
        first, last = sorted((call.lineno, node.lineno))
        if loop in path_to(function, call) and not any(first < one.row < last for one in read.made[name]):
            return True
    if _is_added_to_what_is_differentiated(name, made, loop, function, context):
        return True
    if _is_sum_of_losses(name, made, node, loop, function, context):
        return True
    return isinstance(made.value, ast.Call) and _hands_back_a_loss(made.value, made.place, function, context)


def _is_sum_of_losses(
    name: str, made: _Bound, node: ast.AugAssign, loop: ast.AST, function: FunctionInfo, context: FileContext
) -> bool:
    """Tell whether the turn has added up in the variable what it differentiates, in a loop inside of it perhaps.

    The sum of the losses of a few networks for one batch has all their graphs.
    """
    return any(
        made.row < inner.lineno < node.lineno
        and ast.unparse(inner.target) == name
        and loop in (around := loops_around(function, inner))
        and _differentiated_part(inner, around[-1], function, context) is not None
        for inner in own(function, ast.AugAssign)
    )


def _is_added_to_what_is_differentiated(
    name: str, made: _Bound, loop: ast.AST, function: FunctionInfo, context: FileContext
) -> bool:
    """Tell whether the same turn adds a penalty to what it differentiates: `loss = loss + reg`, `loss.backward()`.

    What a function computes of the model, to be learned from, has a graph, unless it is cut off on the spot.
    """
    computes = (term for term in _terms(made.value) if isinstance(term, ast.Call))
    if not any(_is_penalty(term, function, context) for term in computes):
        return False
    read = _reading(function)
    return any(
        isinstance(one.value, ast.BinOp)
        and isinstance(one.value.op, ast.Add)
        and any(isinstance(term, ast.Name) and term.id == name for term in _terms(one.value))
        and any(loop in path_to(function, call) for call in calls)
        for total, calls in read.differentiated.items()
        for one in read.made[total]
    )


def _is_penalty(call: ast.Call, function: FunctionInfo, context: FileContext) -> bool:
    """Tell whether a function is given a model, `l1(net)`; in sight it takes norms and cuts nothing off."""
    if not isinstance(call.func, ast.Name) or not any(
        isinstance(given, ast.Name) and MODEL_NAME.match(given.id) for given in call.args
    ):
        return False
    callee = _callee(call, function, context)
    return callee is None or (not _NORMS.isdisjoint(callee.callees) and _NUMBERS.isdisjoint(callee.callees))


_NORMS = frozenset({"norm", "abs", "pow", "square"})
_NUMBERS = frozenset({"no_grad", "item", "float", "detach", "numel", "len"})


def _hands_back_a_loss(call: ast.Call, place: int | None, function: FunctionInfo, context: FileContext) -> bool:
    """Tell whether a function of the project returns what it has differentiated, with its graph, be it at a place."""
    callee = _callee(call, function, context)
    if callee is None:
        return False
    given = [node.value for node in own(callee, ast.Return)]
    if place is not None:
        given = [dict(enumerate(v.elts)).get(place) if isinstance(v, ast.Tuple) else None for v in given]
    return bool(given) and all(isinstance(value, ast.Name) and _is_a_loss_of(value.id, callee) for value in given)


def _callee(call: ast.Call, function: FunctionInfo, context: FileContext) -> FunctionInfo | None:
    symbol = context.project.resolve_in(function, call.func)
    if symbol is not None and isinstance(symbol.target, FunctionInfo):
        return symbol.target
    if not isinstance(call.func, ast.Attribute):
        return None
    methods = [method for method, _ in context.resolver.methods(Origin(call, function), call.func)]
    return methods[0] if len(methods) == 1 and not any(methods[0].decorators) else None


def _is_a_loss_of(name: str, callee: FunctionInfo) -> bool:
    """Tell whether a function differentiates a variable whenever it runs, and gives it no other value from then on."""
    read = _reading(callee)
    rows = [call.lineno for call in read.differentiated[name] if not any(conditions(callee, call))]
    return bool(rows) and name not in read.cut and all(one.row < max(rows) for one in read.made[name])


def _is_wanted(total: ast.expr, loop: ast.AST, function: FunctionInfo) -> bool:
    """Tell whether a gradient is computed of a sum, or may be, or the sum begins anew or is cut off in each turn."""
    text, owner = ast.unparse(total), ast.unparse(holder(total))
    for call in function.calls_of("backward", "grad"):
        if any(isinstance(part, ast.expr) and ast.unparse(part) == owner for part in ast.walk(call)):
            return True
    if not frees_graphs(function) or text in _reading(function).cut:
        return True
    anew = (t for n in own(function, ast.Assign) if loop in path_to(function, n) for t in targets_of(n))
    return any(ast.unparse(target) in (text, owner) for target in anew)
