"""How each kind of statement changes a state. A handler returns the states that go on behind it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from modellint.static.flow import data
from modellint.static.flow.conditions import condition_key, implied, narrow, truth, truth_of
from modellint.static.flow.contexts import run_with
from modellint.static.flow.machine import Machine, Statements
from modellint.static.flow.state import State, agree, join_states, settle
from modellint.static.flow.targets import assign, christen, class_home, delete, elements, iterate
from modellint.static.flow.values import (
    CUT,
    MODEL,
    NONE,
    NOTHING,
    Args,
    ClassValue,
    FunctionValue,
    SavedMode,
    Value,
    join,
)
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.names import last_name

MAX_LAPS = 3
"""Passes over a loop; the effect of a mode change is stable after the second."""


def _expression(machine: Machine, node: ast.Expr, state: State) -> list[State]:
    flag = _mode_flag(machine, node.value, state)
    if flag is not None:
        return _branch(machine, flag, state, [_called_with(node, True)], [_called_with(node, False)])
    value = machine.eval(node.value, state)
    if machine.recorder.events and isinstance(node.value, ast.Call):
        machine.recorder.drop(machine.site(node.value), value.taint)
    return [state]


def _mode_flag(machine: Machine, call: ast.expr, state: State) -> ast.expr | None:
    """Return the condition in `model.train(condition)`: the mode then follows it like two branches."""
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "train"):
        return None
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if (
        len(given) != 1
        or isinstance(given[0], (ast.Constant, ast.Starred))
        or condition_key(machine, given[0])[0] is None
    ):
        return None
    value = machine.eval(given[0], state)
    if truth_of(value, state) is not None or any(isinstance(symbol, SavedMode) for symbol in value.symbols):
        return None
    owner = machine.eval(call.func.value, state)
    models = bool(owner.refs) and all(state.heap[oid].kind == MODEL for oid in owner.refs)
    return given[0] if models or (owner.refs and isinstance(given[0], ast.Compare)) else None


def _called_with(node: ast.Expr, flag: bool) -> ast.stmt:
    """Return the statement `model.train(condition)` with the condition replaced by what it is found to be."""
    call = node.value
    assert isinstance(call, ast.Call)
    constant = ast.copy_location(ast.Constant(flag), call)
    return ast.copy_location(ast.Expr(ast.copy_location(ast.Call(call.func, [constant], []), call)), node)


def _assign(machine: Machine, node: ast.Assign, state: State) -> list[State]:
    value = machine.eval(node.value, state)
    if machine.frame.loops and _adds_to_itself(node):
        added = machine.eval(node.value.right, state)  # type: ignore[attr-defined]
        value = value.with_taint(data.accumulated(machine, node, ast.unparse(node.targets[0]), added, state))
    for target in node.targets:
        assign(machine, target, value, state)
    target = node.targets[0]
    if machine.recorder.events and isinstance(target, ast.Name) and not _is_read(machine.frame.function, target.id):
        machine.recorder.drop(machine.site(node.value), value.taint)
    return [state]


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
    names = (name for node in nodes for name in ast.walk(node) if isinstance(name, ast.Name))
    return frozenset(name.id for name in names if not isinstance(name.ctx, ast.Store))


def _outside_functions(body: Iterable[ast.stmt]) -> Iterable[ast.stmt]:
    return (statement for statement in body if not isinstance(statement, _DEFINES))


_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _adds_to_itself(node: ast.Assign) -> bool:
    """Tell whether this is `total = total + ...`."""
    target, value = node.targets[0], node.value
    return (
        isinstance(target, ast.Name)
        and isinstance(value, ast.BinOp)
        and isinstance(value.op, ast.Add)
        and isinstance(value.left, ast.Name)
        and value.left.id == target.id
    )


def _annotated(machine: Machine, node: ast.AnnAssign, state: State) -> list[State]:
    if node.value is not None:
        assign(machine, node.target, machine.eval(node.value, state), state)
    return [state]


def _augmented(machine: Machine, node: ast.AugAssign, state: State) -> list[State]:
    added = machine.eval(node.value, state)
    before = machine.eval(_loaded(node.target), state)
    after = join(before, added)._replace(consts=None)
    number = not before.refs  # a list or tuple that grows is no sum
    if isinstance(node.op, ast.Add) and number and machine.frame.loops and isinstance(node.target, ast.Name):
        after = after.with_taint(data.accumulated(machine, node, node.target.id, added, state))
    assign(machine, node.target, after, state)
    return [state]


def _loaded(target: ast.expr) -> ast.expr:
    """Return `target` as an expression that reads it."""
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    if isinstance(target, ast.Attribute):
        return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
    if isinstance(target, ast.Subscript):
        return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
    return target


def _delete(machine: Machine, node: ast.Delete, state: State) -> list[State]:
    for target in node.targets:
        delete(machine, target, state)
    return [state]


def _if(machine: Machine, node: ast.If, state: State) -> list[State]:
    return _branch(machine, node.test, state, node.body, node.orelse)


def _branch(
    machine: Machine, test: ast.expr, state: State, body: list[ast.stmt], orelse: list[ast.stmt]
) -> list[State]:
    known = truth(machine, test, state)
    key, positive = condition_key(machine, test)
    if known is None and key is not None:
        answer = implied(key, state)
        known = None if answer is None else answer is positive
    if known is not None:
        return machine.block(body if known else orelse, [state])
    frame = machine.frame
    marks = len(frame.returns), len(frame.breaks), len(frame.continues)
    holds, fails = state.over(), state.over()
    if key is not None:
        holds.path[key] = positive
        fails.path[key] = not positive
    narrow(machine, test, True, holds)
    narrow(machine, test, False, fails)
    then, otherwise = machine.block(body, [holds]), machine.block(orelse, [fails])
    ends = [join_states(then + otherwise)] if key is None and then and otherwise else settle(then + otherwise)
    # what lies below may change from here on: every state that goes on gets it as it is now
    for index in range(marks[0], len(frame.returns)):
        value, left = frame.returns[index]
        frame.returns[index] = value, left.onto(state.copy())
    for leaving, mark in ((frame.breaks, marks[1]), (frame.continues, marks[2])):
        leaving[mark:] = [left.onto(state.copy()) for left in leaving[mark:]]
    if len(ends) == 1:
        return [ends[0].onto(state)]
    return [end.onto(state.copy()) for end in ends]


def _match(machine: Machine, node: ast.Match, state: State) -> list[State]:
    subject = machine.eval(node.subject, state)
    after: list[State] = []
    for case in node.cases:
        branch = state.copy()
        for name in ast.walk(case.pattern):
            if isinstance(name, (ast.MatchAs, ast.MatchStar)) and name.name:
                branch.variables[machine.frame.id, name.name] = Value(taint=subject.taint)
        after += machine.block(case.body, [branch])
    return [join_states([*after, state])]


def _for(machine: Machine, node: ast.For | ast.AsyncFor, state: State) -> list[State]:
    iterable = machine.eval(node.iter, state)
    items = elements(machine, node.iter, iterable, state)
    if items is not None:
        return _unrolled(machine, node, items, state)

    def bind_next(current: State) -> None:
        assign(machine, node.target, iterate(machine, iterable, current, node.iter), current)

    return _laps(machine, node, state, bind_next)


def _unrolled(machine: Machine, node: ast.For | ast.AsyncFor, items: list[Value], state: State) -> list[State]:
    """Run the body once for each of a few known elements; constants tell the events of the turns apart."""
    frame = machine.frame
    saved, outer_breaks, outer_continues = frame.unrolled, frame.breaks, frame.continues
    frame.breaks, states = [], [state]
    for index, item in enumerate(items):
        frame.continues = []
        named = item.consts is not None and len(item.consts) == 1
        if named:
            frame.unrolled = (*saved, (f"{node.lineno}:{index}", next(iter(item.consts or ()))))
        for current in states:
            assign(machine, node.target, item, current)
        states = settle(machine.block(node.body, states) + frame.continues)
        frame.unrolled = saved
    ends = machine.block(node.orelse, states) + frame.breaks
    frame.breaks, frame.continues = outer_breaks, outer_continues
    return settle(ends)


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
    """Run a loop lap by lap until a lap begins in a state that was seen before.

    A loop is taken to run at least once, and its laps are kept apart: what the first lap leaves is how the second one
    begins, not something that may or may not be so.
    """
    frame = machine.frame
    outer_breaks, outer_continues, outer_lap = frame.breaks, frame.continues, frame.lap
    frame.breaks = []
    outer_loops = machine.enter_loop(loop)
    states, begun = [state], [state.copy()]
    try:
        for lap in range(MAX_LAPS):
            frame.lap = outer_lap + lap
            frame.continues = []
            for current in states:
                begin(current)
            states = settle(machine.block(loop.body, states) + frame.continues)
            if not states or all(any(agree(seen, s) for seen in begun) for s in states):
                break
            begun += [s.copy() for s in states]
    finally:
        frame.lap = outer_lap
        frame.loops = outer_loops
    breaks = frame.breaks
    frame.breaks, frame.continues = outer_breaks, outer_continues
    if endless:
        return settle(breaks)
    return settle(machine.block(loop.orelse, states) + breaks)


def _try(machine: Machine, node: ast.Try, state: State) -> list[State]:
    frame = machine.frame
    marks = len(frame.returns), len(frame.breaks), len(frame.continues)
    before = state.copy() if node.handlers else None
    after = machine.block(node.body, [state])
    ends: list[State] = []
    if before is not None:
        reached = join_states([before, *(s.copy() for s in after)])
        for handler in node.handlers:
            if handler.type is not None and last_name(handler.type) in ("ImportError", "ModuleNotFoundError"):
                continue  # what is imported is taken to be there
            branch = reached.copy()
            if handler.name:
                branch.variables[frame.id, handler.name] = NOTHING
            ends += machine.block(handler.body, [branch])
    ends += machine.block(node.orelse, after)
    if ends:
        ends = [join_states(ends)]
    if node.finalbody:
        ends = machine.block(node.finalbody, ends)
        for index in range(marks[0], len(frame.returns)):
            value, left = frame.returns[index]
            done = machine.block(node.finalbody, [left])
            if done:
                frame.returns[index] = value, join_states(done)
        for leaving, mark in ((frame.breaks, marks[1]), (frame.continues, marks[2])):
            leaving[mark:] = [s for left in leaving[mark:] for s in machine.block(node.finalbody, [left])]
    return ends


def _with(machine: Machine, node: ast.With | ast.AsyncWith, state: State) -> list[State]:
    return run_with(machine, node.items, node.body, state)


def _return(machine: Machine, node: ast.Return, state: State) -> list[State]:
    value = NONE if node.value is None else machine.eval(node.value, state)
    machine.recorder.use(value.taint, "returned")
    if CUT not in value.taint or value.refs:
        machine.recorder.use(value.taint, "returned with its graph")
    machine.frame.returns.append((value, state))
    return []


def _raise(machine: Machine, node: ast.Raise, state: State) -> list[State]:
    return []


def _break(machine: Machine, node: ast.Break, state: State) -> list[State]:
    machine.frame.breaks.append(state)
    return []


def _continue(machine: Machine, node: ast.Continue, state: State) -> list[State]:
    machine.frame.continues.append(state)
    return []


def _assert(machine: Machine, node: ast.Assert, state: State) -> list[State]:
    if isinstance(node.test, ast.Constant) and not node.test.value:
        return []  # `assert False`: not meant to be reached
    machine.eval(node.test, state)
    narrow(machine, node.test, True, state)
    return [state]


def _function(machine: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef, state: State) -> list[State]:
    frame = machine.frame
    if frame.function.is_body:  # found by name; a decorator may enter it into a registry
        own = frame.function.functions.get(node.name)
        if own is not None and own.node is node:
            _register(machine, node, FunctionValue(own, None, node.name, True), state)
    else:
        inner = next((f for f in frame.function.nested if f.node is node), None)
        if inner is not None:
            value = FunctionValue(inner, frame.id, node.name)
            state.variables[frame.id, node.name] = Value(symbols=(value,))
    return [state]


def _class(machine: Machine, node: ast.ClassDef, state: State) -> list[State]:
    own = machine.frame.function.classes.get(node.name)
    if own is not None and machine.frame.function.is_body:
        _register(machine, node, ClassValue(own, node.name), state)
        _class_body(machine, node, own, state)
    return [state]


def _class_body(machine: Machine, node: ast.ClassDef, cls: ClassInfo, state: State) -> None:
    """Keep the models that the body of a class assigns, and its variables that wait for one."""
    held: dict[str, Value] = {}
    for statement in node.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and held:
            _in_class_body(machine, statement.value, held, state)
        if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
            continue
        if isinstance(statement.value, (ast.Call, ast.Name, ast.Constant)):
            value = machine.eval(statement.value, state)
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Name) and (value.refs or value.symbols or value == NONE):
                    christen(target.id, value, state)
                    state.variables[class_home(machine, cls), target.id] = held[target.id] = value


def _in_class_body(machine: Machine, call: ast.Call, held: dict[str, Value], state: State) -> None:
    """Evaluate a call in the body of a class, where its variables `held` come before those of the file."""
    frame = machine.frame.id
    outer = {name: state.variables.get((frame, name)) for name in held}
    for name, value in held.items():
        state.variables[frame, name] = value
    machine.eval(call, state)
    for name, before in outer.items():
        if before is None:
            del state.variables[frame, name]
        else:
            state.variables[frame, name] = before


def _register(
    machine: Machine,
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
    value: FunctionValue | ClassValue,
    state: State,
) -> None:
    """Run decorators that enter what they decorate into a registry: `@register("small")`, `@MODELS.register()`."""
    for decorator in node.decorator_list if machine.frame.module.registers else ():
        name = last_name(decorator)
        if name is not None and "regist" in name:
            call = ast.copy_location(ast.Call(decorator, [], []), decorator)
            machine.call_value(machine.eval(decorator, state), Args((Value(symbols=(value,)),)), call, state)


def _import(machine: Machine, node: ast.Import | ast.ImportFrom, state: State) -> list[State]:
    """An import runs the module; that matters where it fills a registry."""
    frame = machine.frame
    if frame.function.is_body:
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        level = 0 if isinstance(node, ast.Import) else node.level
        for name in names:
            path = machine.project.paths.find(frame.module.path, name, level)
            if path is not None and not path.is_dir():
                module = machine.project.registry(path, frame.module.path)
                if module is not None:
                    machine.ensure_module(module, state)
    return [state]


def _declare(machine: Machine, node: ast.Global | ast.Nonlocal, state: State) -> list[State]:
    kind = "global" if isinstance(node, ast.Global) else "nonlocal"
    machine.frame.declared.update(dict.fromkeys(node.names, kind))
    return [state]


STATEMENTS: Statements = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Delete: _delete,
    ast.If: _if,
    ast.Match: _match,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Try: _try,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Assert: _assert,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Global: _declare,
    ast.Nonlocal: _declare,
}
if hasattr(ast, "TryStar"):  # Python 3.11
    STATEMENTS[ast.TryStar] = _try  # type: ignore[index]
