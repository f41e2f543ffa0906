"""How each kind of statement changes a state. A handler returns the states that go on behind it."""

from __future__ import annotations

import ast

from modellint.static.flow.assignments import ASSIGNMENTS
from modellint.static.flow.conditions import condition_key, known_before, narrow, truth, truth_of
from modellint.static.flow.contexts import run_with
from modellint.static.flow.data import holds_graph
from modellint.static.flow.definitions import DEFINITIONS
from modellint.static.flow.loops import LOOPS
from modellint.static.flow.machine import Machine, Statements
from modellint.static.flow.state import State, join_states
from modellint.static.flow.targets import delete
from modellint.static.flow.values import MODEL, NONE, NOTHING, SavedMode, Value
from modellint.static.project.names import arguments_of, dotted_name, last_name


def _expression(machine: Machine, node: ast.Expr, state: State) -> list[State]:
    flag = _mode_flag(machine, node.value, state)
    if flag is not None:
        return _branch(machine, flag, state, [_called_with(node, True)], [_called_with(node, False)])
    value = machine.eval(node.value, state)
    if value.taint and isinstance(node.value, ast.Call):
        machine.recorder.drop(machine.site(node.value), value.taint)
    if _ends_the_program(machine, node.value):
        machine.frame.raises.append(state)
        return []
    return [state]


_ENDS = frozenset({"exit", "quit", "sys.exit", "os._exit", "os.abort"})


def _ends_the_program(machine: Machine, call: ast.expr) -> bool:
    """Tell whether nothing runs behind a call: `exit()`, `sys.exit(main())`."""
    text = dotted_name(call.func) if isinstance(call, ast.Call) else None
    if text is None or text.rpartition(".")[2] not in ("exit", "quit", "_exit", "abort"):
        return False
    symbol = machine.project.resolve_in(machine.frame.function, text)
    return text in _ENDS if symbol is None else symbol.target is None and symbol.dotted in _ENDS


def _mode_flag(machine: Machine, call: ast.expr, state: State) -> ast.expr | None:
    """Return the condition in `model.train(condition)`: the mode then follows it like two branches."""
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "train"):
        return None
    given = arguments_of(call)
    if (
        len(given) != 1
        or isinstance(given[0], (ast.Constant, ast.Starred))
        or condition_key(machine, given[0])[0] is None
    ):
        return None
    value = machine.eval(given[0], state)
    if (
        value.taint
        or truth_of(value, state) is not None
        or any(isinstance(symbol, SavedMode) for symbol in value.symbols)
    ):
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
    if known is None:
        known = known_before(machine, test, state)
    if known is not None:
        return machine.block(body if known else orelse, [state])
    frame = machine.frame
    marks = len(frame.returns), len(frame.breaks), len(frame.continues), len(frame.raises)
    holds, fails = state.over(), state.over()
    if key is not None:
        holds.path[key] = positive
        fails.path[key] = not positive
    narrow(machine, test, True, holds)
    narrow(machine, test, False, fails)
    then, otherwise = machine.block(body, [holds]), machine.block(orelse, [fails])
    ends = [join_states(then + otherwise)] if key is None and then and otherwise else machine.settle(then + otherwise)
    # what lies below may change from here on: every state that goes on gets it as it is now
    for index in range(marks[0], len(frame.returns)):
        value, left = frame.returns[index]
        frame.returns[index] = value, left.onto(state.copy())
    for leaving, mark in ((frame.breaks, marks[1]), (frame.continues, marks[2]), (frame.raises, marks[3])):
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
    if not machine.frame.chain and holds_graph(value, state):  # what a caller in sight gets, is seen there
        machine.recorder.use(value.taint, "returned with its graph")
    machine.frame.returns.append((value, state))
    return []


def _raise(machine: Machine, node: ast.Raise, state: State) -> list[State]:
    machine.frame.raises.append(state)
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


STATEMENTS: Statements = {
    **ASSIGNMENTS,
    **LOOPS,
    **DEFINITIONS,
    ast.Expr: _expression,
    ast.Delete: _delete,
    ast.If: _if,
    ast.Match: _match,
    ast.Try: _try,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Assert: _assert,
}
if hasattr(ast, "TryStar"):  # Python 3.11
    STATEMENTS[ast.TryStar] = _try  # type: ignore[index]
