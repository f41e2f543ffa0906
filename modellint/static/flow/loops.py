"""Loops: turn by turn over a few known elements, otherwise lap by lap until nothing new comes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from modellint.static.flow.carried import carried
from modellint.static.flow.conditions import truth
from modellint.static.flow.each_entry import switch_each
from modellint.static.flow.machine import Machine, Statements
from modellint.static.flow.state import State, agree
from modellint.static.flow.targets import assign, assign_each, elements, variable_key
from modellint.static.flow.values import CONTAINER, MODEL, Value, only_constant


def _for(machine: Machine, node: ast.For | ast.AsyncFor, state: State) -> list[State]:
    iterable = machine.eval(node.iter, state)
    before = state.grad
    # what a generator switches off for its `yield` is off in the body of the loop, until the generator goes on
    under = next((machine.yields_under[oid] for oid in iterable.refs if oid in machine.yields_under), before)
    state.grad = under
    after = _turns(machine, node, iterable, state)
    for end in after:
        if end.grad == under:
            end.grad = before
    return after


def _turns(machine: Machine, node: ast.For | ast.AsyncFor, iterable: Value, state: State) -> list[State]:
    items = elements(machine, node.iter, iterable, state)
    if items is not None:
        return _unrolled(machine, node, items, state)

    rewritten = _rewritten(node)

    def bind_next(current: State) -> None:
        assign_each(machine, node.target, iterable, current, node.iter)
        if rewritten is not None:
            _empty(machine, rewritten, current)

    ends = _laps(machine, node, state, bind_next)
    for end in ends:
        switch_each(machine, node, end)
    return ends


def _rewritten(node: ast.For | ast.AsyncFor) -> ast.Name | None:
    """Return the dict whose every value a loop replaces: `for k, v in found.items(): found[k] = v.detach()`."""
    call, target = node.iter, node.target
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "items":
        return None
    held = call.func.value
    if not isinstance(held, ast.Name) or not isinstance(target, ast.Tuple) or not isinstance(target.elts[0], ast.Name):
        return None
    text = f"{held.id}[{target.elts[0].id}]"
    stored = (goal for inner in node.body if isinstance(inner, ast.Assign) for goal in inner.targets)
    return held if any(ast.unparse(goal) == text for goal in stored) else None


def _empty(machine: Machine, held: ast.Name, state: State) -> None:
    """Forget what a dict holds: all of it is about to be replaced."""
    key = (variable_key(machine, held.id, state), held.id)
    value = state.variables.find(key)
    if value is None or any(state.heap[oid].kind != CONTAINER for oid in value.refs):
        return
    state.variables[key] = value._replace(taint=frozenset())
    for oid in value.refs:
        state.heap[oid] = state.heap[oid]._replace(attrs={})


def _unrolled(machine: Machine, node: ast.For | ast.AsyncFor, items: list[Value], state: State) -> list[State]:
    """Run the body once for each of a few known elements; constants tell the events of the turns apart."""
    frame = machine.frame
    saved, outer_breaks, outer_continues = frame.unrolled, frame.breaks, frame.continues
    frame.breaks, states = [], [state]
    for index, item in enumerate(items):
        frame.continues = []
        name = only_constant(_key_of(item, state))
        if name is not None:
            frame.unrolled = (*saved, (f"{node.lineno}:{index}", name[0]))
        for current in states:
            assign(machine, node.target, item, current)
        states = machine.settle(machine.block(node.body, states) + frame.continues)
        frame.unrolled = saved
    ends = machine.block(node.orelse, states) + frame.breaks
    frame.breaks, frame.continues = outer_breaks, outer_continues
    return machine.settle(ends)


def _key_of(item: Value, state: State) -> Value:
    """Return what tells an element from the others: itself, or the first of a row, as of the pairs of a dict."""
    rows = [obj for oid in item.refs if (obj := state.heap[oid]).kind == CONTAINER]
    return rows[0].attrs.get("0", item) if len(rows) == len(item.refs) == 1 else item


def _while(machine: Machine, node: ast.While, state: State) -> list[State]:
    if truth(machine, node.test, state) is False:
        return machine.block(node.orelse, [state])
    endless = isinstance(node.test, ast.Constant) and bool(node.test.value)

    def test_again(current: State) -> None:
        machine.eval(node.test, current)

    return _laps(machine, node, state, test_again, endless)


def _laps(
    machine: Machine,
    loop: ast.For | ast.AsyncFor | ast.While,
    state: State,
    begin: Callable[[State], Any],
    endless: bool = False,
) -> list[State]:
    """Run a loop lap by lap until a lap begins in a state that was seen before, and finds nothing new in a variable.

    A loop is taken to run at least once, and its laps are kept apart: what the first lap leaves is how the second one
    begins, not something that may or may not be so.
    """
    frame = machine.frame
    outer_breaks, outer_continues, outer_lap = frame.breaks, frame.continues, frame.lap
    outer_later = machine.recorder.in_later_lap
    frame.breaks = []
    outer_loops = machine.enter_loop(loop)
    states, begun = [state], [state.copy()]
    known: dict[ast.AST, frozenset[str]] = frame.function.memo.setdefault(carried, {})
    if loop not in known:
        known[loop] = carried(loop)
    handed_on = [(frame.id, name) for name in known[loop]]

    def brings(seen: State, current: State) -> bool:
        """Tell whether a lap that begins so may find a model that one which began as `seen` could not."""
        left = (current.variables.find(key) for key in handed_on if seen.variables.find(key) is None)
        return any(value is not None and _holds_a_model(value, current) for value in left)

    try:
        for lap in range(machine.laps):
            frame.lap = outer_lap + lap
            frame.continues = []
            for current in states:
                begin(current)
            states = machine.settle(machine.block(loop.body, states) + frame.continues)
            if not states:
                break
            if all(any(agree(seen, s) for seen in begun) for s in states):
                if not any(all(brings(seen, s) for seen in begun) for s in states):
                    break
                machine.recorder.in_later_lap = True
            begun += [s.copy() for s in states]
    finally:
        frame.lap = outer_lap
        frame.loops = outer_loops
        machine.recorder.in_later_lap = outer_later
    breaks = frame.breaks
    frame.breaks, frame.continues = outer_breaks, outer_continues
    if endless:
        return machine.settle(breaks)
    return machine.settle(machine.block(loop.orelse, states) + breaks)


def _holds_a_model(value: Value, state: State) -> bool:
    """Tell whether a value is a model, or a container or an object of the project with one in it."""
    held = [state.heap[oid] for oid in value.refs]
    inside = (oid for obj in held for item in obj.attrs.values() for oid in item.refs)
    return any(obj.kind == MODEL for obj in held) or any(state.heap[oid].kind == MODEL for oid in inside)


LOOPS: Statements = {
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
}
