"""Functions handed to something that calls them: `map`, pools of threads and processes, closures of optimizers."""

from __future__ import annotations

import ast

from modellint.static.flow.machine import Machine
from modellint.static.flow.state import State
from modellint.static.flow.targets import iterate, unpacked
from modellint.static.flow.values import (
    MODEL,
    NOTHING,
    ON,
    Args,
    BoundMethod,
    FunctionValue,
    Grad,
    Partial,
    Value,
)

_FOR_EACH = frozenset({"map", "imap", "imap_unordered", "map_async", "filter"})
"""Called with one element of each of the other arguments at a time."""

_AS_GIVEN = frozenset(
    {"step", "checkpoint", "submit", "run", "to_thread", "run_in_threadpool", "run_sync", "run_in_executor"}
)
"""Called with the other arguments as they are (`run_in_executor` is given the pool first)."""

_PACKED = {"apply_async": 0, "apply": 0, "starmap": 0, "Process": 0, "Thread": 0, "spawn": 1, "start_processes": 1}
"""Called with the elements of one argument, behind so many that the caller adds itself (the rank of a process)."""

_IN_A_THREAD = frozenset({"to_thread", "run_in_threadpool", "run_sync", "run_in_executor", "Thread"})
"""Called in a thread of its own, in which autograd records, whatever the one that hands the function over has set."""

_THREAD_POOLS = frozenset({"ThreadPoolExecutor", "ThreadPool"})

CALLERS = _FOR_EACH | _AS_GIVEN | _PACKED.keys()
"""Names of functions, methods and classes that call what they are given."""


def run_callbacks(machine: Machine, name: str, args: Args, node: ast.Call, state: State) -> frozenset[int]:
    """Run the functions given to a call of `name`, if that is known to call them, with what they are given then.

    Returns the forwards that their results were computed from.
    """
    if name not in CALLERS:
        return frozenset()
    saved = state.grad
    if _begins_a_thread(machine, name, node):
        state.grad = Grad(ON, None)
    run = _run_packed if name in _PACKED else _run_given
    taint = run(machine, name, args, node, state)
    state.grad = saved
    return taint


def _begins_a_thread(machine: Machine, name: str, node: ast.Call) -> bool:
    """Tell whether a call has its function run by another thread (a process that is forked inherits what is set)."""
    if name in _IN_A_THREAD:
        return "ProcessPoolExecutor" not in machine.frame.function.callees
    pooled = isinstance(node.func, ast.Attribute) and not _THREAD_POOLS.isdisjoint(machine.frame.function.callees)
    return pooled and name not in ("step", "checkpoint", "run")


def _run_given(machine: Machine, name: str, args: Args, node: ast.Call, state: State) -> frozenset[int]:
    for index, value in enumerate(args.positional):
        in_thread = name in _IN_A_THREAD and any(state.heap[oid].kind == MODEL for oid in value.refs)
        if _is_code(value) or in_thread:
            rest = args.positional[index + 1 :]
            if name in _FOR_EACH:
                rest = tuple(iterate(machine, v, state, node) for v in rest)
            return machine.call_value(value, Args(rest), node, state).taint
    return frozenset()


def _run_packed(machine: Machine, name: str, args: Args, node: ast.Call, state: State) -> frozenset[int]:
    target = args.get("target", None) or args.get("fn", None) or args.get(None, 0)
    if target is None or not _is_code(target):
        return frozenset()
    packed = args.get("args", None) or args.get(None, 1) or NOTHING
    if name == "starmap":
        packed = iterate(machine, packed, state, node)
    added = tuple(NOTHING for _ in range(_PACKED[name]))
    return machine.call_value(target, Args((*added, *(unpacked(packed, state) or ()))), node, state).taint


def _is_code(value: Value) -> bool:
    return any(isinstance(symbol, (FunctionValue, BoundMethod, Partial)) for symbol in value.symbols)
