"""`with` blocks: autograd switches, the project's own context managers, and those of which nothing is known."""

from __future__ import annotations

import ast
import re

from modellint.static.flow.events import MODE_ENTERED
from modellint.static.flow.machine import Machine
from modellint.static.flow.modes import set_mode
from modellint.static.flow.state import State, join_states
from modellint.static.flow.targets import assign
from modellint.static.flow.values import (
    EVAL,
    INSTANCE,
    MODEL,
    NONE,
    NOTHING,
    TRAIN,
    UNKNOWN,
    UNKNOWN_MODES,
    Args,
    BoundMethod,
    FunctionValue,
    Grad,
    GradContext,
    Manager,
    ModeFact,
    Value,
)
from modellint.static.flow.vocabulary import MODEL_NAME
from modellint.static.guards import entered
from modellint.static.project import ClassInfo
from modellint.static.project.names import last_name

_SPEAKS_OF_MODE = re.compile(r"eval|infer|train|mode(?!l)|grad|frozen|freeze", re.I)

_DATA = re.compile(r"\w*(data(set)?s?|sets?|loaders?|batch(es|er)?|iter(ator)?s?|samples?)\b", re.I)
"""Names of what a model is trained on or evaluated with."""
_ANY_CONTEXT = re.compile(r"^_*(ctx|cm|context)(_?(manager|fn|factory|maker))?$", re.I)
"""Names of what makes a context that somebody chose elsewhere."""

_MEASURES = re.compile(r"^(time|timer|timeit|time_it|measure|span|start_span|start_as_current_span|record_function)$")
"""Names of what takes the time of its block and switches nothing: `with INFERENCE_TIME.time():`."""


def run_with(machine: Machine, items: list[ast.withitem], body: list[ast.stmt], state: State) -> list[State]:
    """Run `body` inside the context managers `items`, and undo what they did to autograd behind it."""
    if not items:
        return machine.block(body, [state])
    item, rest = items[0], items[1:]
    saved = state.grad
    frame = machine.frame
    returned, broken, continued = len(frame.returns), len(frame.breaks), len(frame.continues)
    expression, passed_over = entered(item.context_expr)
    for part in passed_over:
        machine.eval(part, state)
    value = machine.eval(expression, state)
    switched = {oid for s in value.symbols if isinstance(s, GradContext) for oid in s.models}
    modes = {oid: state.heap[oid].modes for oid in switched}
    manager = next((s for s in value.symbols if isinstance(s, Manager)), None)
    if manager is not None:
        after = _run_manager(machine, manager, item, rest, body, state)
    else:
        _note_mode_entered(machine, value, expression, state)
        leave = enter_context(machine, value, expression, state)
        if item.optional_vars is not None:
            assign(machine, item.optional_vars, leave[0], state)
        after = run_with(machine, rest, body, state)
        for current in after:
            _exit(machine, leave[1], expression, current)
    left = [end for _, end in frame.returns[returned:]] + frame.breaks[broken:] + frame.continues[continued:]
    for current in after + left:
        current.grad = saved
        for oid, before in modes.items():
            set_mode(oid, before, current)
    return after


def _note_mode_entered(machine: Machine, value: Value, node: ast.expr, state: State) -> None:
    """Note `with model.eval():` where the model is a torch module that is no context manager."""
    if not (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("eval", "train")
    ):
        return
    if value.symbols or len(value.refs) != 1:
        return
    oid = next(iter(value.refs))
    obj = state.heap[oid]
    owner = obj.cls if isinstance(obj.cls, ClassInfo) else None
    if owner is not None and any(machine.project.method(owner, name) for name in ("__enter__", node.func.attr)):
        return
    if obj.kind == MODEL and (obj.how or MODEL_NAME.match(obj.name)) and obj.modes != UNKNOWN_MODES:
        machine.note(MODE_ENTERED, node, oid, state, ast.unparse(node))


def enter_context(
    machine: Machine, value: Value, node: ast.expr, state: State
) -> tuple[Value, list[tuple[int, ClassInfo]]]:
    """Enter the context manager `value`; return what `as` binds, and the objects whose `__exit__` is to be called."""
    switches = [s for s in value.symbols if isinstance(s, GradContext)]
    if switches:
        others = len(value.symbols) > len(switches) or value.refs
        states = {s.grad for s in switches}
        if states != {"same"}:
            state.grad = Grad(states.pop() if len(states) == 1 and not others else UNKNOWN, switches[0].site)
        for switch in switches:
            for oid in switch.models:
                known = switch.mode in (TRAIN, EVAL) and not others and len(switches) == 1
                fact = ModeFact(switch.mode, switch.site, f"{ast.unparse(node)[:40]}")
                set_mode(oid, frozenset({fact}) if known else UNKNOWN_MODES, state)
        return NOTHING, []
    bound, managed = value, []
    for oid in value.refs:
        cls = state.heap[oid].cls
        if state.heap[oid].kind == INSTANCE and isinstance(cls, ClassInfo):
            enter = machine.project.method(cls, "__enter__")
            if enter is not None:
                me = Value(refs=frozenset({oid}))
                bound = machine.call(FunctionValue(enter, None, "__enter__"), me, Args(), node, state)
                managed.append((oid, cls))
    if not managed:
        _unknown_context(machine, node, state)
    return bound, managed


def _exit(machine: Machine, managed: list[tuple[int, ClassInfo]], node: ast.expr, state: State) -> None:
    for oid, cls in managed:
        leave = machine.project.method(cls, "__exit__")
        if leave is not None:
            me = Value(refs=frozenset({oid}))
            machine.call(FunctionValue(leave, None, "__exit__"), me, Args((NONE, NONE, NONE)), node, state)


def _unknown_context(machine: Machine, node: ast.expr, state: State) -> None:
    """A context manager out of sight that speaks of modes may set them, and autograd, to anything."""
    if not isinstance(node, ast.Call):
        return
    func = node.func
    if isinstance(func, ast.Name) and _ANY_CONTEXT.match(func.id) and not machine.eval(func, state).symbols:
        state.grad = Grad(UNKNOWN, machine.site(node))  # `for context in contexts: stack.enter_context(context())`
        return
    if not _SPEAKS_OF_MODE.search(_DATA.sub("", ast.unparse(func))) or _MEASURES.match(last_name(func) or ""):
        return
    symbol = machine.project.resolve_in(machine.frame.function, func)
    if symbol is not None and symbol.dotted.startswith("torch."):
        return  # those that switch something are known; a profiler under torch.autograd does not
    owners = [func.value] if isinstance(func, ast.Attribute) else []
    for argument in [*owners, *node.args, *(k.value for k in node.keywords)]:
        for oid in machine.eval(argument, state).refs:
            state.heap[oid] = state.heap[oid]._replace(modes=UNKNOWN_MODES)
            for name, held in state.heap[oid].attrs.items():
                for inner in held.refs:
                    if name != "<held>":
                        state.heap[inner] = state.heap[inner]._replace(modes=UNKNOWN_MODES)
    known = machine.eval(func, state)
    if not any(isinstance(s, BoundMethod) and s.name in ("train", "eval") for s in known.symbols):
        state.grad = Grad(UNKNOWN, machine.site(node))


def enter_manager(machine: Machine, manager: Manager, state: State) -> None:
    """Enter a `@contextmanager` function whose end is not in sight: an exit stack will leave it.

    Autograd is as at its `yield`; the modes that it sets are open, because it may set them back.
    """
    reached: list[State] = []

    def on_yield(value: Value, current: State) -> None:
        reached.append(current.copy())

    frame, work = machine.enter(manager.function, manager.receiver, manager.args, machine.frame.chain, state.copy())
    frame.on_yield = on_yield
    try:
        machine.run_body(frame, work, state.copy())
    finally:
        machine.frames.pop()
    for current in reached[:1]:
        state.grad = current.grad
        for oid, obj in current.heap.items():
            known = state.heap.find(oid)
            if known is not None and known.modes != obj.modes:
                state.heap[oid] = known._replace(modes=UNKNOWN_MODES)


def _run_manager(
    machine: Machine,
    manager: Manager,
    item: ast.withitem,
    rest: list[ast.withitem],
    body: list[ast.stmt],
    state: State,
) -> list[State]:
    """Run a `@contextmanager` function with the block in the place of its `yield`."""
    ends: list[State] = []
    home = machine.frame
    depth = len(machine.frames)

    def on_yield(value: Value, current: State) -> None:
        inner = machine.frames[depth:]
        del machine.frames[depth:]
        try:
            if item.optional_vars is not None:
                assign(machine, item.optional_vars, value, current)
            after = run_with(machine, rest, body, current)
        finally:
            machine.frames.extend(inner)
        if after:
            joined = join_states(after)
            current.variables, current.heap, current.path = joined.variables, joined.heap, joined.path
        ends.append(current)

    function = manager.function
    if len(machine.frames) >= 12:
        return run_with(machine, rest, body, state)
    frame, work = machine.enter(function, manager.receiver, manager.args, home.chain, state)
    frame.on_yield = on_yield
    try:
        machine.run_body(frame, work, state)
    finally:
        machine.frames.pop()
    return [state] if ends else run_with(machine, rest, body, state)
