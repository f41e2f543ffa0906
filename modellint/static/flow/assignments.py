"""Assignments: what a name, an attribute or an element holds from here on."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from modellint.static.classes import first_part
from modellint.static.flow import data
from modellint.static.flow.machine import Machine, Statements
from modellint.static.flow.state import State
from modellint.static.flow.targets import assign
from modellint.static.flow.values import NOTHING, Args, Value, cut_off, join
from modellint.static.flow.vocabulary import ESTIMATORS, FINDS, MODEL_NAME
from modellint.static.project import FunctionInfo
from modellint.static.project.names import imported_by_text, last_name
from modellint.static.project.trees import walk


def _assign(machine: Machine, node: ast.Assign, state: State) -> list[State]:
    value = machine.eval(node.value, state)
    imported = imported_by_text(node) if machine.frame.function.is_body else None
    if imported is not None and imported[0] in machine.frame.module.imports:
        return [state]  # the name is looked up where it is read, as after an `import`
    addend = _added_to_itself(node) if machine.frame.loops else None
    if addend is not None:
        added = machine.eval(addend, state)
        value = value.with_taint(data.accumulated(machine, node, ast.unparse(node.targets[0]), added, state))
    elif data.trains_in_each_turn(machine) and (addend := _averaged_with_itself(node)) is not None:
        added = machine.eval(addend, state)
        value = value.with_taint(
            data.accumulated(machine, node, ast.unparse(node.targets[0]), added, state, data.AVERAGED)
        )
    elif data.keyed_by_turn(machine, target := node.targets[0], state):
        kept = ast.unparse(target.value)  # type: ignore[attr-defined]
        value = value.with_taint(data.accumulated(machine, node, kept, value, state, data.COLLECTED))
    if value == NOTHING and isinstance(node.value, ast.Call) and any(map(_is_called_a_model, node.targets)):
        if not _makes_no_module(machine, node.value):
            value = machine.out_of_sight(node.value, Args(), state, writes=False)  # what made it was followed in vain
    for target in node.targets:
        if value.taint and not value.refs and _finds_places(target, node.value):
            best, places = target.elts  # type: ignore[attr-defined]
            assign(machine, best, value, state)
            assign(machine, places, value._replace(taint=cut_off(value.taint)), state)
        else:
            assign(machine, target, value, state)
    target = node.targets[0]
    if value.taint and isinstance(target, ast.Name) and not _is_read(machine.frame.function, target.id):
        machine.recorder.drop(machine.site(node.value), value.taint)
    return [state]


def _finds_places(target: ast.expr, value: ast.expr) -> bool:
    """Tell whether a call gives numbers and where they stand: `best, places = torch.max(scores, 1)`."""
    is_pair = isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == 2
    return is_pair and isinstance(value, ast.Call) and last_name(value) in FINDS


def _makes_no_module(machine: Machine, call: ast.Call) -> bool:
    """Tell whether a library whose models are no modules makes what `call` gives: `model = SVC()`.

    What numpy picks from a list may be one.
    """
    made = machine.project.resolve_in(machine.frame.function, call.func)
    if made is None or made.target is not None or last_name(call.func) == "choice":
        return False
    return first_part(made.dotted) in _WITHOUT_MODULES


_WITHOUT_MODULES = ESTIMATORS | {"numpy"}
"""Packages that make no modules of torch."""


def _is_called_a_model(target: ast.expr) -> bool:
    """Tell whether the name of a variable or an attribute, or of one of several, says that it is a model."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return any(map(_is_called_a_model, target.elts))
    return isinstance(target, (ast.Name, ast.Attribute)) and MODEL_NAME.match(last_name(target) or "") is not None


def _is_read(function: FunctionInfo, name: str) -> bool:
    """Tell whether a variable of a function, or of a script, is read anywhere; what a notebook holds is looked at."""
    known: frozenset[str] | None = function.memo.get(_is_read)
    if known is None and function.module.path.suffix != ".ipynb":
        known = _reads([function.node] if function.node is not None else _outside_functions(function.body))
        for inner in function.module.functions if function.is_body else ():
            known |= _reads([inner.node] if inner.node is not None else []) - inner.stores
        function.memo[_is_read] = known
    return name != "_" and (known is None or name in known)


def _reads(nodes: Iterable[ast.AST]) -> frozenset[str]:
    names = (name for node in nodes for name in walk(node) if isinstance(name, ast.Name))
    return frozenset(name.id for name in names if not isinstance(name.ctx, ast.Store))


def _outside_functions(body: Iterable[ast.stmt]) -> Iterable[ast.stmt]:
    return (statement for statement in body if not isinstance(statement, _DEFINES))


_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _added_to_itself(node: ast.Assign) -> ast.expr | None:
    """Return what `total = total + added` adds."""
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Name) and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return value.right if isinstance(value.left, ast.Name) and value.left.id == target.id else None
    return None


def _averaged_with_itself(node: ast.Assign) -> ast.expr | None:
    """Return what a moving average takes in: `added * 0.1` of `mean = 0.9 * mean + 0.1 * added`, or of
    `mean = (mean * n + added) / (n + 1)`."""
    target, value = node.targets[0], node.value
    if not isinstance(target, ast.Name):
        return None
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Div, ast.Mult)):
        value = value.left
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return None
    for kept, added in ((value.left, value.right), (value.right, value.left)):
        if _is_multiple(kept, target.id):
            return added
    return None


def _is_multiple(value: ast.expr, name: str) -> bool:
    """Tell whether an expression is a variable, or the product of it and a factor."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Mult, ast.Div)):
        return any(isinstance(side, ast.Name) and side.id == name for side in (value.left, value.right))
    return isinstance(value, ast.Name) and value.id == name


def _annotated(machine: Machine, node: ast.AnnAssign, state: State) -> list[State]:
    if node.value is not None:
        assign(machine, node.target, machine.eval(node.value, state), state)
    return [state]


def _augmented(machine: Machine, node: ast.AugAssign, state: State) -> list[State]:
    added = machine.eval(node.value, state)
    before = machine.eval(_loaded(node.target), state)
    number = not before.refs  # a list or tuple that grows is no sum
    if number:
        added = added._replace(taint=state.computed(added.taint))
    after = join(before, added)._replace(consts=None)
    if number and before.taint:
        after = Value(taint=after.taint)  # a tensor stays one, whatever a call out of sight gave that is added
    if isinstance(node.op, ast.Add) and number and _is_sum(machine, node.target, added):
        after = after.with_taint(data.accumulated(machine, node, ast.unparse(node.target), added, state))
    assign(machine, node.target, after, state)
    return [state]


def _is_sum(machine: Machine, target: ast.expr, added: Value) -> bool:
    """Tell whether a loop may add up in what is assigned to: in a variable, or in an element or attribute of one,
    `totals["loss"]`, `self.total`, where each turn trains and so differentiates by itself.

    So may the calls of a method that trains, in an attribute of its object.
    """
    if not machine.frame.loops:
        return data.trains_in_each_call(machine, target)
    if isinstance(target, ast.Name):
        return True
    owner = target.value if isinstance(target, ast.Subscript) else target
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    if not isinstance(owner, ast.Name):
        return False
    in_this_turn = data.trains_in_each_turn(machine) or data.is_trained_in_a_call(machine, added)
    return in_this_turn or data.is_trained_around(machine, added)


def _loaded(target: ast.expr) -> ast.expr:
    """Return `target` as an expression that reads it."""
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    if isinstance(target, ast.Attribute):
        return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
    if isinstance(target, ast.Subscript):
        return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
    return target


ASSIGNMENTS: Statements = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
}
