"""How the parameters of a called function get their values."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from modellint.static.flow.annotated import declare
from modellint.static.flow.frames import Frame
from modellint.static.flow.state import ConditionKey, State
from modellint.static.flow.values import (
    CONTAINER,
    ELEMENT,
    ENTRY_MODES,
    NOTHING,
    UNKNOWN_MODES,
    UNKNOWN_WEIGHTS,
    Args,
    External,
    Obj,
    Value,
    join_all,
)
from modellint.static.flow.vocabulary import MODEL_NAME
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
        variables[frame.id, name] = _taken(machine, frame, name, value, state)
    keywords = dict(args.keywords)
    spread = args.starred
    for argument, default in parameters(function):
        name = argument.arg
        if argument is node.vararg:
            rest = given[len(names) :]
            variables[frame.id, name] = _collected(machine, frame, rest, state) if rest or spread is None else spread
        elif argument is node.kwarg:
            given_by_name = _by_name(machine, frame, keywords, spread, state) if keywords else spread
            variables[frame.id, name] = given_by_name or NOTHING
        elif name in keywords:
            variables[frame.id, name] = _taken(machine, frame, name, keywords.pop(name), state)
        elif name in names[: len(given)]:
            pass
        elif spread is not None:
            variables[frame.id, name] = Value(taint=spread.taint)
        elif default is not None:
            variables[frame.id, name] = _default(machine, frame, default, state)
        else:
            variables[frame.id, name] = _opaque(machine, frame, name, state)
        declare(machine, function, argument, variables[frame.id, name], state)


def _taken(machine: Machine, frame: Frame, name: str, value: Value, state: State) -> Value:
    """Return what a parameter gets: a model of unknown origin if it is called like one and nothing is known of it."""
    return _opaque(machine, frame, name, state) if value == NOTHING and MODEL_NAME.match(name) else value


def _opaque(machine: Machine, frame: Frame, name: str, state: State) -> Value:
    return machine.opaque(state, ("parameter", frame.function, frame.chain, name), name, UNKNOWN_MODES)


def _collected(machine: Machine, frame: Frame, rest: list[Value], state: State) -> Value:
    """Return the tuple that `*args` holds."""
    oid = machine.number(("rest", frame.function, frame.chain))
    attrs = {str(index): value for index, value in enumerate(rest)}
    state.heap[oid] = Obj(CONTAINER, None, "", None, "list", UNKNOWN_MODES, UNKNOWN_WEIGHTS, attrs)
    return Value(refs=frozenset({oid}), taint=join_all(rest).taint)


def _by_name(machine: Machine, frame: Frame, rest: dict[str, Value], spread: Value | None, state: State) -> Value:
    """Return the dictionary that `**kwargs` holds."""
    oid = machine.number(("rest by name", frame.function, frame.chain))
    attrs = dict(rest) if spread is None else {**rest, ELEMENT: spread}
    state.heap[oid] = Obj(CONTAINER, None, "", None, "dict", UNKNOWN_MODES, UNKNOWN_WEIGHTS, attrs)
    return Value(refs=frozenset({oid}), taint=join_all(rest.values()).taint)


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
        handed_on = _torch_itself(function, name)
        positional.append(handed_on or machine.opaque(state, ("argument", function, name), name, ENTRY_MODES))
    for argument in node.args.kwonlyargs:
        keywords[argument.arg] = machine.opaque(state, ("argument", function, argument.arg), argument.arg, ENTRY_MODES)
    spread = NOTHING if node.args.vararg is not None else None
    if node.args.kwarg is not None:  # `self.model = kwargs["model"]`
        spread = machine.opaque(state, ("argument", function, node.args.kwarg.arg), node.args.kwarg.arg, ENTRY_MODES)
    return Args(tuple(positional), keywords, spread)


def _torch_itself(function: FunctionInfo, name: str) -> Value | None:
    """Return torch where an argument is called so, in a file that imports it: a cell is given it by another one.

    A notebook that is a program is written so (marimo): `def _(torch, net):`.
    """
    imported = function.module.imports.get(name)
    torch = imported is not None and imported.name is None and imported.module == "torch"
    return Value(symbols=(External("torch"),)) if torch else None


_ABOUT_NAME = re.compile(r"(\w+)(| is None| == ('[^']*'|\d+))")


def carried_conditions(
    caller: Frame, function: FunctionInfo, receiver: Value | None, node: ast.AST, path: Mapping[ConditionKey, bool]
) -> dict[str, bool]:
    """Return what the conditions passed in `caller` say inside `function`, in its own words.

    A condition on a variable goes along where the variable is handed over as it is, one on an attribute of `self`
    where a method calls another one of the same object.
    """
    known = {text: holds for (frame, text), holds in path.items() if frame == caller.id}
    if not known or not isinstance(node, ast.Call) or function.node is None:
        return {}
    names = [argument.arg for argument in function.node.args.posonlyargs + function.node.args.args]
    if receiver is not None:
        names = names[1:]
    handed = {item.id: name for item, name in zip(node.args, names, strict=False) if isinstance(item, ast.Name)}
    handed |= {k.value.id: k.arg for k in node.keywords if isinstance(k.value, ast.Name) and k.arg in names}
    same_object = receiver is not None and receiver == caller.receiver and caller.function.self_name == "self"
    carried = {}
    for text, holds in known.items():
        match = _ABOUT_NAME.fullmatch(text)
        if match is not None and match[1] in handed:
            carried[handed[match[1]] + match[2]] = holds
        elif same_object and function.self_name == "self" and _ABOUT_SELF.fullmatch(text):
            carried[text] = holds
    return carried


_ABOUT_SELF = re.compile(r"self\.\w+(| is None| == ('[^']*'|\d+))")
