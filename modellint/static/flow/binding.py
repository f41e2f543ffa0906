"""How the parameters of a called function get their values."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from modellint.static.flow.frames import Frame
from modellint.static.flow.state import State
from modellint.static.flow.values import ENTRY_MODES, NOTHING, UNKNOWN_MODES, Args, Value, join_all
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import parameters

if TYPE_CHECKING:
    from modellint.static.flow.machine import Machine


def bind(machine: Machine, frame: Frame, args: Args, state: State) -> None:
    """Give the parameters of the function of `frame` their values."""
    function = frame.function
    if function.node is None:
        return
    node = function.node.args
    names = [argument.arg for argument in node.posonlyargs + node.args]
    given = list(args.positional)
    if frame.receiver is not None:
        given.insert(0, frame.receiver)
    variables = state.variables
    for name, value in zip(names, given, strict=False):
        variables[frame.id, name] = value
    keywords = dict(args.keywords)
    spread = args.starred
    for argument, default in parameters(function):
        name = argument.arg
        if argument is node.vararg:
            rest = join_all(given[len(names) :]) if len(given) > len(names) else spread or NOTHING
            variables[frame.id, name] = rest
        elif argument is node.kwarg:
            variables[frame.id, name] = join_all(keywords.values()) if keywords else spread or NOTHING
        elif name in keywords:
            variables[frame.id, name] = keywords.pop(name)
        elif name in names[: len(given)]:
            continue
        elif spread is not None:
            variables[frame.id, name] = Value(taint=spread.taint)
        elif default is not None:
            variables[frame.id, name] = _default(machine, frame, default, state)
        else:
            variables[frame.id, name] = machine.opaque(
                state, ("parameter", function, frame.chain, name), name, UNKNOWN_MODES
            )


def _default(machine: Machine, frame: Frame, default: ast.expr, state: State) -> Value:
    if isinstance(default, ast.Constant):
        return Value(consts=frozenset({default.value}))
    home = Frame(machine.module_frame(frame.module), frame.module.body, None, frame.chain)
    machine.frames.append(home)
    try:
        return machine.eval(default, state)
    finally:
        machine.frames.pop()


def unknown_arguments(machine: Machine, function: FunctionInfo, state: State, receiver: Value | None) -> Args:
    """Return arguments of which only the callers, out of sight, know anything."""
    positional = []
    keywords: dict[str, Value] = {}
    node = function.node
    assert node is not None
    names = [argument.arg for argument in node.args.posonlyargs + node.args.args]
    for name in names[1:] if receiver is not None else names:
        positional.append(machine.opaque(state, ("argument", function, name), name, ENTRY_MODES))
    for argument in node.args.kwonlyargs:
        keywords[argument.arg] = machine.opaque(state, ("argument", function, argument.arg), argument.arg, ENTRY_MODES)
    return Args(tuple(positional), keywords)
