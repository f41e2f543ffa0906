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
    UNKNOWN,
    Args,
    BoundMethod,
    FunctionValue,
    Grad,
    Partial,
    Value,
)
from modellint.static.guards import values_entered
from modellint.static.narrowing import attribute_of
from modellint.static.project.names import last_name

_FOR_EACH = frozenset({"map", "imap", "imap_unordered", "map_async", "filter"})
"""Called with one element of each of the other arguments at a time."""

_AS_GIVEN = frozenset(
    {"step", "checkpoint", "submit", "run", "to_thread", "run_in_threadpool", "run_sync", "run_in_executor"}
)
"""Called with the other arguments as they are (`run_in_executor` is given the pool first)."""

_PACKED = {"apply_async": 0, "apply": 0, "starmap": 0, "Process": 0, "Thread": 0, "spawn": 1, "start_processes": 1}
"""Called with the elements of one argument, behind so many that the caller adds itself (the rank of a process)."""

_IN_A_THREAD = {"to_thread": 0, "run_in_threadpool": 0, "run_in_executor": 1, "Thread": 0}
"""Called in a thread of its own, behind so many arguments (the pool). Autograd records in a new thread, whatever the
one that hands the function over has set."""

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
    if (begun := _begins_a_thread(machine, name, node)) is not None:
        state.grad = Grad(begun, None)
    run = _run_packed if name in _PACKED else _run_given
    taint = run(machine, name, args, node, state)
    state.grad = saved
    return taint


def function_started(call: ast.Call) -> ast.expr | None:
    """Return what a call, by its name alone, has a thread, or a pool of them, run; None where it is none of those."""
    name = last_name(call.func)
    named = next((keyword.value for keyword in call.keywords if keyword.arg in ("target", "func", "fn")), None)
    place = _IN_A_THREAD.get(name or "", 0 if name in ("submit", "map", "run_sync") else None)
    if place is None or named is not None:
        return named if place is not None else None
    return call.args[place] if place < len(call.args) else None


def begins_a_thread(call: ast.Call) -> bool:
    """Tell whether a call, by its name alone, has a function run by a new thread."""
    return last_name(call.func) in _IN_A_THREAD


def _begins_a_thread(machine: Machine, name: str, node: ast.Call) -> str | None:
    """Return how autograd stands in the thread that a call has its function run by, None where it is no other one.

    A process that is forked inherits what is set; an `initializer` may switch autograd off in each thread.
    """
    if name in _IN_A_THREAD and name != "run_in_executor":
        return ON
    pool = node.func.value if isinstance(node.func, ast.Attribute) else None
    if name == "run_in_executor" and node.args:
        pool = node.args[0]
        if isinstance(pool, ast.Constant):
            return ON  # None: asyncio's own pool of threads
    pools = [value for value in _makers_of(machine, pool) if _is_a_pool(value)] if pool is not None else []
    if not pools:
        return None
    return UNKNOWN if any(map(is_readied, pools)) else ON


def _is_run_by_a_context(machine: Machine, name: str, node: ast.Call) -> bool:
    """Tell whether `contextvars` call what they are given: `copy_context().run(net, x)`."""
    if name != "run" or not isinstance(node.func, ast.Attribute):  # equivalent: a context has no other such method
        return False
    made = (value.func for value in _makers_of(machine, node.func.value) if isinstance(value, ast.Call))
    return any(last_name(func) == "copy_context" for func in made)


def _is_a_pool(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and last_name(value.func) in _THREAD_POOLS


def is_readied(pool: ast.expr) -> bool:
    """Tell whether what makes a pool has each thread, or process, run a function first, an `initializer`."""
    return any(keyword.arg in ("initializer", None) for keyword in getattr(pool, "keywords", ()))


def _makers_of(machine: Machine, pool: ast.expr) -> list[ast.expr]:
    """Return what a pool was made by: the one that a variable, or an attribute of the object, holds, or itself."""
    function = machine.frame.function
    if isinstance(pool, ast.Name):
        return values_entered(function, pool.id)
    attribute = attribute_of(pool, function.self_name or "")
    if attribute is not None and function.cls is not None:
        return [value for _, value in machine.classes.kept_in(function.cls, attribute)]
    return [pool]


def _run_given(machine: Machine, name: str, args: Args, node: ast.Call, state: State) -> frozenset[int]:
    place = 0 if _is_run_by_a_context(machine, name, node) else _IN_A_THREAD.get(name)
    if place is not None and place < len(args.positional) and not args.positional[place].symbols:
        models = frozenset(oid for oid in args.positional[place].refs if state.heap[oid].kind == MODEL)
        written = node.args[place] if place < len(node.args) else node.func  # `to_thread(*given)` has fewer
        given = ast.copy_location(ast.Call(written, node.args[place + 1 :], node.keywords), node)
        inputs = Args(args.positional[place + 1 :], args.keywords)
        return machine.call_value(Value(models), inputs, given, state).taint if models else frozenset()
    for index, value in enumerate(args.positional):
        if _is_code(value):
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
