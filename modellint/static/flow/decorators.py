"""What the decorators of a function do: switch autograd, wrap it in code of the project, or something out of sight."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from modellint.catalog.framework import Argument
from modellint.static.flow.frames import Frame, site_of
from modellint.static.flow.state import State
from modellint.static.flow.values import OFF, Args, FunctionValue, Grad, GradContext, Value
from modellint.static.flow.vocabulary import GRAD_SWITCHES, SWITCHES_OFF
from modellint.static.guards import choices, own
from modellint.static.knowledge import ABSENT, UNSURE, settle
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import does_nothing, parameters
from modellint.static.project.names import dotted_name, last_name

if TYPE_CHECKING:
    from modellint.static.flow.machine import Machine

_SETS_UP = re.compile(r"eval|infer|no_?grad|grad_|frozen|test_mode", re.I)


def bare_decorator(node: ast.expr) -> ast.expr:
    """Return a decorator without its call."""
    return node.func if isinstance(node, ast.Call) else node


def grad_switch(machine: Machine, function: FunctionInfo, node: ast.expr) -> GradContext | None:
    """Return the autograd switch that the decorator `node` of `function` is, called or bare.

    On an `async def` torch's own switch nothing: they are left again before the coroutine runs.
    """
    symbol = machine.project.resolve_in(function.parent or function.module.body, bare_decorator(node))
    fact = machine.knowledge.contexts.get(symbol.dotted) if symbol is not None else None
    if fact is None and symbol is not None and (_picks_switch(symbol.target) or _puts_into_switch(symbol.target)):
        return GradContext(OFF, site_of(function.module, node))
    if fact is None and symbol is not None and _calls_under_switch(machine, symbol.target):
        return GradContext(OFF, site_of(function.module, node))
    if fact is None or fact.effect.grad == "same" or isinstance(function.node, ast.AsyncFunctionDef):
        return None
    effect = settle(fact, lambda argument: _literal(node, argument))
    return GradContext(effect.grad, site_of(function.module, node))


def _picks_switch(target: object) -> bool:
    """Tell whether a decorator of the project only picks one that switches autograd off, and wraps nothing itself."""
    if not isinstance(target, FunctionInfo) or target.cls is not None or target.nested:
        return False
    return not SWITCHES_OFF.isdisjoint(target.words)


def _puts_into_switch(target: object) -> bool:
    """Tell whether a decorator that the project makes puts what it is given into a switch, unless one is on already.

    def smart_inference_mode():
        def decorate(function):
            if torch.is_inference_mode_enabled():
                return function
            return (torch.inference_mode if NEW else torch.no_grad)()(function)
        return decorate
    """
    if not isinstance(target, FunctionInfo) or target.cls is not None or len(target.nested) != 1:
        return False
    inner = target.nested[0]
    returned = [node.value for node in own(inner, ast.Return)]
    put = [value for value in returned if isinstance(value, ast.Call) and isinstance(value.func, ast.Call)]
    given = {argument.arg for argument, _ in parameters(inner)}
    others = [value for value in returned if not (isinstance(value, ast.Name) and value.id in given)]
    return bool(put) and others == put and all(map(_is_put_into_switch, put))


def _is_put_into_switch(value: ast.Call) -> bool:
    """Tell whether an expression calls a switch, or the one of two that is chosen, and gives it a function."""
    made = value.func
    assert isinstance(made, ast.Call)
    return len(value.args) == 1 and all(last_name(choice) in SWITCHES_OFF for choice in choices(made.func))


def _calls_under_switch(machine: Machine, target: object) -> bool:
    """Tell whether a decorator of the project does nothing but call what it wraps with autograd off.

    def nograd(function):
        def wrapped(*args, **kwargs):
            with torch.no_grad():
                return function(*args, **kwargs)
        return wrapped
    """
    if not isinstance(target, FunctionInfo) or target.cls is not None or len(target.nested) != 1:
        return False
    wrapper = target.nested[0]
    body = [statement for statement in wrapper.body if not does_nothing(statement)]
    if len(body) != 1 or not isinstance(body[0], ast.With) or len(body[0].items) != 1 or len(body[0].body) != 1:
        return False
    switch, inner = body[0].items[0].context_expr, body[0].body[0]
    symbol = machine.project.resolve_in(wrapper, bare_decorator(switch))
    fact = machine.knowledge.contexts.get(symbol.dotted) if symbol is not None else None
    called = inner.value.func if isinstance(inner, ast.Return) and isinstance(inner.value, ast.Call) else None
    given = {argument.arg for argument, _ in parameters(target)}
    return fact is not None and fact.effect.grad == OFF and isinstance(called, ast.Name) and called.id in given


def _literal(node: ast.expr, argument: Argument) -> object:
    """Return what the text of a decorator says of an argument, in the words of `settle`."""
    if not isinstance(node, ast.Call):
        return ABSENT
    given = next((keyword.value for keyword in node.keywords if keyword.arg in argument.names), None)
    if given is None and argument.position is not None and argument.position < len(node.args):
        given = node.args[argument.position]
    if given is None:
        return ABSENT
    return given.value if isinstance(given, ast.Constant) else UNSURE


def decorated_grad(machine: Machine, function: FunctionInfo) -> Grad | None:
    """Return the state of autograd that the decorators of `function` set, None if they leave it alone."""
    if not function.is_decorated or function.node is None:
        return None
    for decorator in function.node.decorator_list:
        switch = grad_switch(machine, function, decorator)
        if switch is not None:
            return Grad(switch.grad, switch.site)
    return None


def _only_passes_on(machine: Machine, wrapper: FunctionInfo) -> bool:
    """Tell whether a wrapper that a decorator made just calls what it wraps: it measures the time, say, or logs.

    It enters no block, names no switch, and calls no function of the project, nor a method of what it is given, that
    might.
    """
    scope: FunctionInfo | None = wrapper
    while scope is not None and not scope.is_body:
        if not _SWITCHING.isdisjoint(scope.words) or own(scope, ast.With, ast.AsyncWith):
            return False
        given = {argument.arg for argument, _ in parameters(scope)}
        for call in scope.calls:
            symbol = machine.project.resolve_in(scope, call.func)
            if symbol is not None and isinstance(symbol.target, FunctionInfo):
                return False
            if isinstance(call.func, ast.Attribute) and (dotted_name(call.func) or "").split(".")[0] in given:
                return False
        scope = scope.parent
    return True


_SWITCHING = GRAD_SWITCHES | {"eval", "train", "training"}


def hides_mode(machine: Machine, function: FunctionInfo) -> bool:
    """Tell whether a decorator out of sight, by its name, sets the mode or switches autograd."""
    if not function.is_decorated or function.node is None:
        return False
    for node in function.node.decorator_list:
        name = last_name(node)
        if name is None or not _SETS_UP.search(name) or _registers(function, node):
            continue
        symbol = machine.project.resolve_in(function.parent or function.module.body, bare_decorator(node))
        if symbol is None:
            return True
        if not isinstance(symbol.target, FunctionInfo) and machine.knowledge.contexts.get(symbol.dotted) is None:
            return True
    return False


def _registers(function: FunctionInfo, decorator: ast.expr) -> bool:
    """Tell whether a decorator belongs to an object that the file makes: `@app.evaluate()` names what is handled."""
    bare = bare_decorator(decorator)
    if not isinstance(bare, ast.Attribute) or not isinstance(bare.value, ast.Name):
        return False
    made = (
        node for node in function.module.body.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
    )
    return any(isinstance(target, ast.Name) and target.id == bare.value.id for node in made for target in node.targets)


def wrapping_decorators(machine: Machine, function: FunctionInfo) -> tuple[ast.expr, ...]:
    """Return the decorators of `function` that are functions of the project or make a context manager."""
    if function not in machine.wrappers:
        found = []
        managers = managers_among(machine, function)
        for node in function.node.decorator_list if function.is_decorated and function.node else ():
            symbol = machine.project.resolve_in(function.parent or function.module.body, bare_decorator(node))
            if symbol is None:
                continue
            wraps = isinstance(symbol.target, FunctionInfo) and node not in managers
            wraps = wraps and not _calls_under_switch(machine, symbol.target)
            if wraps or symbol.dotted.endswith("contextmanager"):
                found.append(node)
        machine.wrappers[function] = tuple(found)
    return machine.wrappers[function]


def decorate(machine: Machine, callee: FunctionValue, state: State) -> FunctionValue | None:
    """Apply the project's own decorators; None where there are none, or where what comes out is not in sight."""
    decorators = wrapping_decorators(machine, callee.function)
    if not decorators:
        return None
    chain = machine.frame.chain if machine.frames else ()
    home = Frame(machine.module_frame(callee.function.module), callee.function.module.body, None, chain)
    value = Value(symbols=(callee._replace(raw=True),))
    machine.frames.append(home)
    try:
        for node in reversed(decorators):
            decorator = machine.eval(node, state)
            functions = [s for s in decorator.symbols if isinstance(s, FunctionValue)]
            if len(functions) != 1:
                return None
            value = machine.call(functions[0]._replace(raw=True), None, Args((value,)), node, state)
    finally:
        machine.frames.pop()
    functions = [s for s in value.symbols if isinstance(s, FunctionValue)]
    return functions[0]._replace(raw=True) if len(functions) == 1 else None


def begun_with(machine: Machine, callee: FunctionValue, state: State) -> FunctionValue:
    """Return what runs where an analysis begins at a function: its wrapper, unless that just calls it.

    A wrapper says nothing by its name, and stands for all the functions that it is put around.
    """
    wrapped = decorate(machine, callee, state)
    return callee if wrapped is None or _only_passes_on(machine, wrapped.function) else wrapped


def managed_body(machine: Machine, function: FunctionInfo) -> list[ast.stmt]:
    """Return the body of a function, inside those of its decorators that are context managers of the project.

    What `@contextmanager` makes is a `contextlib.ContextDecorator`: `@eval_mode(model)` enters it around each call.
    """
    if not function.is_decorated or function.node is None:
        return function.body
    if function not in machine.managed:
        body = function.body
        if items := [ast.withitem(node) for node in managers_among(machine, function)]:
            body = [ast.copy_location(ast.With(items, body), function.node)]
        machine.managed[function] = body
    return machine.managed[function]


def managers_among(machine: Machine, function: FunctionInfo) -> list[ast.expr]:
    """Return the decorators of a function that are calls of the project's own which make a context manager."""
    decorators = function.node.decorator_list if function.is_decorated and function.node else []
    scope = function.parent or function.module.body
    calls = [node for node in decorators if isinstance(node, ast.Call)]
    made = [(node, machine.project.resolve_in(scope, node.func)) for node in calls]
    return [
        node
        for node, symbol in made
        if symbol is not None and isinstance(symbol.target, FunctionInfo) and _is_manager(machine, symbol.target)
    ]


def _is_manager(machine: Machine, function: FunctionInfo, depth: int = 0) -> bool:
    """Tell whether a function returns a context manager: by its decorator, or by another one that it calls for it."""
    if function.node is None:
        return False
    if any(makes_context_manager(machine, function, node) for node in function.node.decorator_list):
        return True
    last = function.body[-1]
    if depth > 2 or not isinstance(last, ast.Return) or not isinstance(last.value, ast.Call):
        return False
    symbol = machine.project.resolve_in(function, last.value.func)
    target = symbol.target if symbol is not None else None
    return isinstance(target, FunctionInfo) and _is_manager(machine, target, depth + 1)


def makes_context_manager(machine: Machine, function: FunctionInfo, node: ast.expr) -> bool:
    """Tell whether the decorator `node` is `contextlib.contextmanager` or the like."""
    symbol = machine.project.resolve_in(function.parent or function.module.body, node)
    return symbol is not None and symbol.dotted.endswith("contextmanager")
