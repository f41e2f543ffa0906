"""What each kind of expression evaluates to."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from modellint.static.flow.calls import attribute, call_node
from modellint.static.flow.conditions import compare, narrow, truth, truth_of
from modellint.static.flow.machine import Expressions, Machine
from modellint.static.flow.names import name_value
from modellint.static.flow.state import State, join_states
from modellint.static.flow.targets import (
    TAINT_HELD,
    assign,
    assign_each,
    element,
    elements,
    index_key,
    iterate,
    key_of,
)
from modellint.static.flow.values import (
    CONTAINER,
    ELEMENT,
    NOTHING,
    ClassValue,
    Value,
    constant,
    cut_off,
    join,
    join_all,
    only_constant,
)
from modellint.static.flow.vocabulary import FINDS
from modellint.static.project.callers import last_name_of
from modellint.static.project.names import last_name


def _constant(machine: Machine, node: ast.Constant, state: State) -> Value:
    return constant(node.value)


def _attribute(machine: Machine, node: ast.Attribute, state: State) -> Value:
    return attribute(machine, machine.eval(node.value, state), node.attr, state)


def _subscript(machine: Machine, node: ast.Subscript, state: State) -> Value:
    owner, index = machine.eval(node.value, state), machine.eval(node.slice, state)
    if _is_told_types(machine, owner):
        return owner
    if owner.taint and _is_old_item(node):
        machine.recorder.use(owner.taint, "number")
        return Value(taint=cut_off(owner.taint))
    if owner.taint and _is_place(node):
        machine.recorder.use(owner.taint, "prediction")
        return Value(taint=cut_off(owner.taint))
    found = _slice(machine, node, owner, state) if isinstance(node.slice, ast.Slice) else None
    if found is None:
        found = element(machine, owner, key_of(index), state, node)
    if not index.taint:
        return found
    machine.recorder.use(index.taint, "prediction")  # it says which ones are picked
    return found.with_taint(cut_off(index.taint))


def _is_told_types(machine: Machine, owner: Value) -> bool:
    """Tell whether what is asked for an item is a generic class, which is told its types: `Checkpoint[Net](path)`."""
    classes = [symbol.cls for symbol in owner.symbols if isinstance(symbol, ClassValue)]
    if not classes or len(classes) < len(owner.symbols):
        return False
    outside = (machine.project.ancestry(cls)[1] for cls in classes)
    return all("Generic" in map(last_name_of, bases) for bases in outside)


def _slice(machine: Machine, node: ast.Subscript, owner: Value, state: State) -> Value | None:
    """Return the part of a list that a slice takes, of which any element may be; None for what is no list."""
    lists = [obj for oid in owner.refs if (obj := state.heap[oid]).kind == CONTAINER and obj.how == "list"]
    if not lists or len(lists) < len(owner.refs):
        return None
    held = join_all(value for obj in lists for key, value in obj.attrs.items() if key != TAINT_HELD)
    return machine.container(node, state, {ELEMENT: held}, "list").with_taint(owner.taint)


_NUMBER = re.compile(r"loss|err(or)?s?$|acc(uracy)?$|nll|cost|ppl|correct", re.I)


def _is_old_item(node: ast.Subscript) -> bool:
    """Tell whether this is `loss.data[0]`, which was how to write `loss.item()` before torch 0.4."""
    if not (isinstance(node.value, ast.Attribute) and node.value.attr == "data"):
        return False
    first = isinstance(node.slice, ast.Constant) and node.slice.value == 0 and type(node.slice.value) is int
    return first and _NUMBER.search(last_name(node.value.value) or "") is not None


def _is_place(node: ast.Subscript) -> bool:
    """Tell whether this is where the largest number stands, or the like: `scores.max(1)[1]`, the index of a class."""
    call, place = node.value, node.slice
    second = isinstance(place, ast.Constant) and place.value == 1 and type(place.value) is int
    return second and isinstance(call, ast.Call) and bool(call.args or call.keywords) and last_name(call) in FINDS


def _sequence(machine: Machine, node: ast.Tuple | ast.List | ast.Set, state: State) -> Value:
    attrs: dict[str, Value] = {}
    for index, item in enumerate(node.elts):
        if isinstance(item, ast.Starred):
            attrs[ELEMENT] = iterate(machine, machine.eval(item.value, state), state, item)
        else:
            attrs[str(index)] = machine.eval(item, state)
    return machine.container(node, state, attrs, "list")


def _dict(machine: Machine, node: ast.Dict, state: State) -> Value:
    attrs: dict[str, Value] = {}
    for key, item in zip(node.keys, node.values, strict=True):
        value = machine.eval(item, state)
        name = ELEMENT if key is None else index_key(machine, key, state)
        attrs[name] = join(attrs[name], value) if name in attrs else value
    return machine.container(node, state, attrs, "dict")


def _comprehension(
    machine: Machine, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, state: State
) -> Value:
    generator = node.generators[0]
    iterable = machine.eval(generator.iter, state)
    known = elements(machine, generator.iter, iterable, state) if len(node.generators) == 1 else None
    items: Sequence[Value | None] = known if known is not None else [None]
    results = []
    outer = machine.enter_loop(generator)
    for index, item in enumerate(items):
        if item is None:
            assign_each(machine, generator.target, iterable, state, generator.iter)
        else:
            assign(machine, generator.target, item, state)
        for inner in node.generators[1:]:
            assign_each(machine, inner.target, machine.eval(inner.iter, state), state, inner.iter)
        for test in (test for g in node.generators for test in g.ifs):
            machine.eval(test, state)
        if isinstance(node, ast.DictComp):
            key = index_key(machine, node.key, state)
            results.append((key, machine.eval(node.value, state)))
        else:
            key = str(index) if len(items) > 1 else ELEMENT
            results.append((key, machine.eval(node.elt, state)))
    machine.frame.loops = outer
    return machine.container(node, state, dict(results), "list" if not isinstance(node, ast.DictComp) else "dict")


def _conditional(machine: Machine, node: ast.IfExp, state: State) -> Value:
    known = truth(machine, node.test, state)
    if known is not None:
        return machine.eval(node.body if known else node.orelse, state)
    other = state.copy()
    narrow(machine, node.test, True, state)
    narrow(machine, node.test, False, other)
    value = join(machine.eval(node.body, state), machine.eval(node.orelse, other))
    replace(state, join_states([state, other]))
    return value


def replace(state: State, after: State) -> None:
    """Make `state` say what `after` says."""
    state.variables, state.heap, state.grad, state.path = after.variables, after.heap, after.grad, after.path


def _boolean(machine: Machine, node: ast.BoolOp, state: State) -> Value:
    decisive = isinstance(node.op, ast.Or)
    values = []
    for operand in node.values:
        value = machine.eval(operand, state)
        known = truth_of(value, state)
        if known is not (not decisive):
            values.append(value)
        if known is decisive:
            break
    return join_all(values) if values else constant(not decisive)


def _not(machine: Machine, node: ast.UnaryOp, state: State) -> Value:
    value = machine.eval(node.operand, state)
    if isinstance(node.op, ast.Not):
        known = truth_of(value, state)
        return Value(taint=value.taint) if known is None else constant(not known)
    number = only_constant(value)
    if isinstance(node.op, ast.USub) and number is not None and isinstance(number[0], (int, float)):
        return constant(-number[0])
    return Value(taint=value.taint)


def _compare(machine: Machine, node: ast.Compare, state: State) -> Value:
    left = machine.eval(node.left, state)
    if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        listed = node.comparators[0]
        if isinstance(listed, (ast.List, ast.Tuple, ast.Set)):
            options = [only_constant(machine.eval(item, state)) for item in listed.elts]
            known = only_constant(left)
            if known is not None and None not in options:
                return constant((known in options) is isinstance(node.ops[0], ast.In))
    rights = [machine.eval(comparator, state) for comparator in node.comparators]
    if len(rights) == 1:
        outcome = compare(node, left, rights[0])
        if outcome is not None:
            return constant(outcome)
    if left.taint and len(rights) == 1 and _is_threshold(node):
        machine.recorder.use(left.taint, "prediction")
    taint = left.taint.union(*(right.taint for right in rights))
    return Value(taint=cut_off(taint))


def _is_threshold(node: ast.Compare) -> bool:
    """Tell whether something other than a loss is held against a threshold: a probability becomes a decision."""
    limit = node.comparators[0]
    if not isinstance(node.ops[0], (ast.Gt, ast.GtE, ast.Lt, ast.LtE)):
        return False
    share = isinstance(limit, ast.Constant) and isinstance(limit.value, float) and 0 < limit.value < 1
    named = isinstance(limit, (ast.Name, ast.Attribute)) and "thr" in (last_name(limit) or "").lower()
    return (share or named) and "loss" not in ast.unparse(node.left).lower()


def _binary(machine: Machine, node: ast.BinOp, state: State) -> Value:
    left, right = machine.eval(node.left, state), machine.eval(node.right, state)
    taint = left.taint | right.taint
    text = only_constant(left)
    if isinstance(node.op, ast.Mod) and text is not None and isinstance(text[0], str):  # `"loss %f" % loss`
        machine.recorder.use(taint, "printed")
        return NOTHING
    joined = left.refs | right.refs
    if joined and all(state.heap[oid].kind == CONTAINER for oid in joined):
        return Value(refs=joined, taint=taint)  # list + list
    return Value(taint=state.computed(taint))


def _text(machine: Machine, node: ast.JoinedStr, state: State) -> Value:
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            machine.recorder.use(machine.eval(part.value, state).taint, "printed")
    return NOTHING


def _lambda(machine: Machine, node: ast.Lambda, state: State) -> Value:
    return Value(symbols=(machine.lambda_value(node),))


def _walrus(machine: Machine, node: ast.NamedExpr, state: State) -> Value:
    value = machine.eval(node.value, state)
    assign(machine, node.target, value, state)
    return value


def _await(machine: Machine, node: ast.Await, state: State) -> Value:
    return machine.eval(node.value, state)


def _starred(machine: Machine, node: ast.Starred, state: State) -> Value:
    return machine.eval(node.value, state)


def _yield(machine: Machine, node: ast.Yield | ast.YieldFrom, state: State) -> Value:
    value = NOTHING if node.value is None else machine.eval(node.value, state)
    frame = machine.frame
    machine.recorder.use(value.taint, "returned")
    if frame.on_yield is not None:
        frame.on_yield(value, state)
    else:
        frame.yielded.append((value, state, state.grad))
    return NOTHING


EXPRESSIONS: Expressions = {
    ast.Constant: _constant,
    ast.Name: name_value,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: call_node,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.IfExp: _conditional,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _not,
    ast.Compare: _compare,
    ast.BinOp: _binary,
    ast.JoinedStr: _text,
    ast.Lambda: _lambda,
    ast.NamedExpr: _walrus,
    ast.Await: _await,
    ast.Starred: _starred,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
}
