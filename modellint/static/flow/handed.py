"""Functions handed to something that calls them: `map`, pools of threads and processes, closures of optimizers."""

from __future__ import annotations

import ast

from modellint.static.flow.machine import Machine
from modellint.static.flow.state import State
from modellint.static.flow.targets import iterate, unpacked
from modellint.static.flow.values import (
    NOTHING,
    Args,
    BoundMethod,
    FunctionValue,
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

CALLERS = _FOR_EACH | _AS_GIVEN | _PACKED.keys()
"""Names of functions, methods and classes that call what they are given."""


def run_callbacks(machine: Machine, name: str, args: Args, node: ast.Call, state: State) -> None:
    """Run the functions given to a call of `name`, if that is known to call them, with what they are given then."""
    if name in _PACKED:
        _run_packed(machine, name, args, node, state)
    elif name in _FOR_EACH or name in _AS_GIVEN:
        for index, value in enumerate(args.positional):
            if _is_code(value):
                rest = args.positional[index + 1 :]
                if name in _FOR_EACH:
                    rest = tuple(iterate(machine, v, state, node) for v in rest)
                machine.call_value(value, Args(rest), node, state)
                return


def _run_packed(machine: Machine, name: str, args: Args, node: ast.Call, state: State) -> None:
    target = args.get("target", None) or args.get("fn", None) or args.get(None, 0)
    if target is None or not _is_code(target):
        return
    packed = args.get("args", None) or args.get(None, 1) or NOTHING
    if name == "starmap":
        packed = iterate(machine, packed, state, node)
    added = tuple(NOTHING for _ in range(_PACKED[name]))
    machine.call_value(target, Args((*added, *(unpacked(packed, state) or ()))), node, state)


def _is_code(value: Value) -> bool:
    return any(isinstance(symbol, (FunctionValue, BoundMethod, Partial)) for symbol in value.symbols)
