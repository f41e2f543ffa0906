"""Conditions: which are known, and which can be told apart later because nothing changes them."""

from __future__ import annotations

import ast
import re

from modellint.static.constants import compared
from modellint.static.flow.machine import Machine
from modellint.static.flow.state import ConditionKey, State
from modellint.static.flow.targets import variable_key
from modellint.static.flow.values import (
    EVAL,
    MODEL,
    NOTHING,
    OPAQUE,
    TRAIN,
    UNKNOWN,
    ModeFact,
    SavedMode,
    Value,
    kinds,
    only_constant,
)
from modellint.static.guards import unnegated
from modellint.static.narrowing import asked_for_module
from modellint.static.project.names import last_name

_PURE = (ast.Name, ast.Attribute, ast.Constant, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.cmpop, ast.boolop)
_PURE_REST = (ast.unaryop, ast.expr_context)
_MAX_KEY = 120


def truth(machine: Machine, test: ast.expr, state: State) -> bool | None:
    """Return whether `test` holds, None where that is not known; its effects happen in `state`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = truth(machine, test.operand, state)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        decisive = isinstance(test.op, ast.Or)
        result: bool | None = not decisive
        for operand in test.values:
            known = truth(machine, operand, state)
            if known is decisive:
                return decisive
            if known is None:
                result = None
        return result
    return truth_of(machine.eval(test, state), state)


def narrow(machine: Machine, test: ast.expr, holds: bool, state: State) -> None:
    """Take over what `test`, found to hold or not, says about a mode: `model.training`, or that there is no model."""
    test, holds = unnegated(test, holds)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is holds:
        for operand in test.values:
            narrow(machine, operand, holds, state)
    elif isinstance(test, ast.BoolOp) and not holds and len(left := _but_for_libraries(test)) == 1:
        narrow(machine, left[0], False, state)
    elif isinstance(test, ast.Attribute) and test.attr == "training":
        for oid in machine.eval(test.value, state).refs:
            if state.heap[oid].kind in (MODEL, OPAQUE):
                _checked(oid, holds, state)
    elif isinstance(test, ast.Name):
        # `was_training = model.training`, asked before anything else set the mode
        for symbol in machine.eval(test, state).symbols:
            if isinstance(symbol, SavedMode) and state.heap[symbol.owner].modes == symbol.modes:
                _checked(symbol.owner, holds, state)
    elif (absent := _absent(test, holds)) is not None:
        # what happens to a model where there is one is all that ever happens to it
        absents = (MODEL, OPAQUE) if isinstance(absent, ast.Attribute) else (MODEL,)
        for oid in machine.eval(absent, state).refs:
            if state.heap[oid].kind in absents:
                state.heap[oid] = state.heap[oid]._replace(modes=frozenset(), frozen=True)
    elif not holds and (asked := _asked_for_batch_norm(test)) is not None:
        # likewise where there are such layers
        for oid in machine.eval(asked, state).refs:
            obj = state.heap[oid]
            if obj.kind in (MODEL, OPAQUE) and (obj.depends == UNKNOWN or "BatchNorm" in obj.detail):
                state.heap[oid] = obj._replace(modes=frozenset())
    elif not holds and isinstance(test, ast.Call) and (other := asked_for_module(test)) is not None:
        state.variables[variable_key(machine, other, state), other] = NOTHING  # a model of another library
    elif not holds and (name := _asked_for_tensor(test)) is not None:
        key = (variable_key(machine, name, state), name)
        value = state.variables.find(key)
        if value is not None and value.taint:  # what is no tensor was not computed by a forward
            state.variables[key] = value._replace(taint=frozenset())


def _but_for_libraries(test: ast.BoolOp) -> list[ast.expr]:
    """Return what a conjunction asks but for questions whether a library is there, as it is for who uses it."""
    if not isinstance(test.op, ast.And):
        return []
    return [operand for operand in test.values if _ASKS_FOR_LIBRARY.search(last_name(operand) or "") is None]


_ASKS_FOR_LIBRARY = re.compile(
    r"^(?!.*(cuda|gpu|mps|xpu|npu|tpu|amp))_?(is_\w+_available|has_\w+|\w+_(available|installed))$", re.I
)


def _asked_for_batch_norm(test: ast.expr) -> ast.expr | None:
    """Return the model of which a condition asks whether it has batch norms, as updates of their statistics begin."""
    if not isinstance(test, ast.Call) or not test.args or _ASKS_FOR_BATCH_NORM.search(last_name(test) or "") is None:
        return None
    return test.args[0] if isinstance(test.args[0], (ast.Name, ast.Attribute)) else None


_ASKS_FOR_BATCH_NORM = re.compile(r"^_?(check|has|have|contains?|is|any)_(bn|batch_?norms?)$")


def _asked_for_tensor(test: ast.expr) -> str | None:
    """Return the variable of which a condition asks whether it is a tensor."""
    if not isinstance(test, ast.Call) or not test.args or not isinstance(test.args[0], ast.Name):
        return None
    others, asks = test.args[1:], last_name(test)
    if asks == "isinstance" and len(others) == 1:
        classes = others[0].elts if isinstance(others[0], ast.Tuple) else others
        asks_it = any(last_name(cls) == "Tensor" for cls in classes)
    elif asks == "hasattr" and len(others) == 1 and isinstance(others[0], ast.Constant):
        asks_it = others[0].value in _OF_TENSORS
    else:
        asks_it = asks == "is_tensor"
    return test.args[0].id if asks_it else None


_OF_TENSORS = frozenset({"detach", "backward", "requires_grad", "grad_fn"})


def _checked(oid: int, holds: bool, state: State) -> None:
    """Take over that a model was found in training mode, or not: code that asks for it knows what it does there."""
    fact = ModeFact(UNKNOWN if holds else EVAL, None, "checked")
    state.heap[oid] = state.heap[oid]._replace(modes=frozenset({fact}))


def _absent(test: ast.expr, holds: bool) -> ast.expr | None:
    """Return the attribute or variable that is None where `test` holds, or does not."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, (ast.Attribute, ast.Name)):
        with_none = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
        if with_none and isinstance(test.ops[0], ast.Is if holds else ast.IsNot):
            return test.left
    return test if isinstance(test, ast.Attribute) and not holds else None


def truth_of(value: Value, state: State) -> bool | None:
    """Return whether `value` is true, None where that is not known."""
    known = only_constant(value)
    if known is not None:
        try:
            return bool(known[0])
        except Exception:
            return None
    if value.consts is not None and value.consts and not value.refs and not value.symbols:
        answers = {bool(c) for c in value.consts}
        return answers.pop() if len(answers) == 1 else None
    if len(value.symbols) == 1 and not value.refs and isinstance(value.symbols[0], SavedMode):
        modes = kinds(value.symbols[0].modes)
        return {frozenset({TRAIN}): True, frozenset({EVAL}): False}.get(frozenset(modes))
    if value.refs and value.consts is None and all(state.heap[r].kind == MODEL for r in value.refs):
        return True
    return None


def condition_key(machine: Machine, test: ast.expr) -> tuple[ConditionKey | None, bool]:
    """Return what identifies the pure condition `test`, and whether it stands there unnegated."""
    known = machine.conditions.get(test)
    if known is None:
        known = machine.conditions[test] = _condition(test)
    text, positive = known
    return (None if text is None else (machine.frame.id, text)), positive


def _condition(test: ast.expr) -> tuple[str | None, bool]:
    """Return the text of a pure condition without its negation, None for any other, and whether it is unnegated."""
    test, positive = unnegated(test)
    if (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], (ast.NotEq, ast.IsNot, ast.NotIn))
    ):
        opposite = {ast.NotEq: ast.Eq, ast.IsNot: ast.Is, ast.NotIn: ast.In}[type(test.ops[0])]
        test, positive = ast.Compare(test.left, [opposite()], test.comparators), not positive
    for node in ast.walk(test):
        if not isinstance(node, _PURE) and not isinstance(node, _PURE_REST):
            return None, positive
    text = ast.unparse(test)
    if len(text) > _MAX_KEY or isinstance(test, ast.Constant):
        return None, positive
    return text, positive


def known_before(machine: Machine, test: ast.expr, state: State) -> bool | None:
    """Return what the conditions passed say about `test`; None where they leave it open.

    Of `train and step > 3` nothing is left where `train` was found not to hold, nor of the `or` of two where one holds.
    """
    key, positive = condition_key(machine, test)
    answer = implied(key, state) if key is not None else None
    if answer is not None:
        return answer is positive
    whole, holds = unnegated(test)
    if not isinstance(whole, ast.BoolOp) or not state.path:  # equivalent: the second saves the look
        return None
    decisive = isinstance(whole.op, ast.Or)
    if any(known_before(machine, operand, state) is decisive for operand in whole.values):
        return decisive is holds
    return None


def implied(key: ConditionKey, state: State) -> bool | None:
    """Return what the conditions passed say about the condition `key`; None where they leave it open.

    What was found equal to one text is not equal to another one.
    """
    if key in state.path or not state.path:
        return state.path.get(key)
    frame, text = key
    left, equals, right = text.partition(" == ")
    if not equals or not _TEXT.fullmatch(right):
        return None
    for (other_frame, other), holds in state.path.items():
        mine, _, compared = other.partition(" == ")
        if holds and other_frame == frame and mine == left and _TEXT.fullmatch(compared):
            return False
    return None


_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"")


def compare(node: ast.Compare, left: Value, right: Value) -> bool | None:
    """Return the outcome of a comparison of two values, None where it is not known."""
    a, b = only_constant(left), only_constant(right)
    if a is not None and b is not None:
        return compared(node.ops[0], a[0], b[0])
    # an object is not None
    if isinstance(node.ops[0], (ast.Is, ast.IsNot)) and b == (None,) and left.consts is None:
        if left.symbols and not left.refs:
            return isinstance(node.ops[0], ast.IsNot)
    return None
