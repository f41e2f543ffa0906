"""What need not be run: calls that can have nothing to do with models, and functions that a call has shown in full."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import TYPE_CHECKING

from modellint.static.flow.annotated import takes_modules
from modellint.static.flow.state import State
from modellint.static.flow.summaries import Result, given_values, havoc
from modellint.static.flow.values import (
    INSTANCE,
    MODEL,
    NOTHING,
    UNKNOWN_MODES,
    UNKNOWN_WEIGHTS,
    Args,
    Obj,
    Value,
    join_all,
    perhaps_cut_off,
)
from modellint.static.flow.vocabulary import KEEPS, KEEPS_GRAPH
from modellint.static.guards import assignments, own, unmoved, values_of
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.facts import is_none, parameters
from modellint.static.project.names import dotted_name, holder, last_name

if TYPE_CHECKING:
    from modellint.static.flow.machine import Machine


def tells_nothing(machine: Machine, function: FunctionInfo, args: Args, state: State) -> bool:
    """Tell whether a call shows of the arguments no more than is known of any argument."""
    if any(not is_none(default) for default in _left_to_defaults(function, args)):
        return False
    seen: set[int] = set()
    return all(v.consts is None and machine.quiet.is_quiet(v, state.heap, seen) for v in args.every())


def decides_nothing(function: FunctionInfo, args: Args) -> bool:
    """Tell whether a call gives no constant, and leaves none to a default, that may decide what the function does."""
    if any(isinstance(default, ast.Constant) for default in _left_to_defaults(function, args)):
        return False
    return all(value.consts is None for value in args.every())


def _left_to_defaults(function: FunctionInfo, args: Args) -> Iterator[ast.expr]:
    """Yield the defaults of the parameters that a call gives nothing for."""
    for index, (argument, default) in enumerate(parameters(function)):
        is_given = index < len(args.positional) or argument.arg in args.keywords or args.starred is not None
        if default is not None and not is_given:
            yield default


def runs_what_it_is_given(
    machine: Machine, function: FunctionInfo, receiver: Value | None, args: Args, state: State
) -> bool:
    """Tell whether a helper calls a method of what it is given, or of what its object keeps, that does something.

    A method of a model may run it by a name of its own: `model.batch_test(rows)` says nothing where the class is not
    known. So may one of another object of the project, `agent.play(x)`, and of each in a list of them.
    """
    given = [oid for value in args.every() for oid in value.refs]
    kept = [] if receiver is None else [oid for whole in receiver.refs for oid in _inside(state, whole)]
    within = [inner for oid in (*given, *kept) for inner in _inside(state, oid)]
    if receiver is not None and any(_leads_to_an_heir(machine, function, state.heap[oid]) for oid in receiver.refs):
        return True
    return any(_runs_a_module(machine, function, state.heap[oid]) for oid in given) or any(
        _asks_an_object(machine, function, state.heap[oid]) for oid in {*given, *kept, *within}
    )


def _leads_to_an_heir(machine: Machine, function: FunctionInfo, obj: Obj) -> bool:
    """Tell whether an inherited method of a module leads to one that its class overrides, and which does something.

    What its own class has in that place may do nothing: `def log_prob(self, x): return self._log_prob(x)`.
    """
    cls = obj.cls
    if not isinstance(cls, ClassInfo) or function.cls in (None, cls) or not machine.classes.is_module(cls):
        return False
    called, queue = set[str](), [function]
    while queue:
        for name in queue.pop().callees - called:
            called.add(name)
            own_one = machine.project.method(function.cls, name)
            method = machine.project.method(cls, name) if own_one is not None else None
            if method is not None and method is not own_one and not machine.is_inert(method):
                return True
            if method is not None:
                queue.append(method)
    return False


def _inside(state: State, oid: int) -> Iterator[int]:
    """Yield what an object that is no model keeps, or a list holds."""
    obj = state.heap[oid]
    if obj.kind != MODEL:
        for value in obj.attrs.values():
            yield from value.refs


def _runs_a_module(machine: Machine, function: FunctionInfo, obj: Obj) -> bool:
    if not isinstance(obj.cls, ClassInfo) or not machine.classes.is_module(obj.cls):
        return False
    asked = (machine.project.method(obj.cls, name) for name in function.callees)
    return any(method is not None and machine.classes.runs_forward(method) for method in asked)


def _asks_an_object(machine: Machine, function: FunctionInfo, obj: Obj) -> bool:
    if obj.kind != INSTANCE or not isinstance(obj.cls, ClassInfo) or machine.classes.is_module(obj.cls):
        return False
    asked = (machine.project.method(obj.cls, name) for name in function.callees)
    return any(m is not None and m is not function and not machine.is_inert(m) for m in asked)


def without_running(
    machine: Machine, function: FunctionInfo, receiver: Value | None, args: Args, node: ast.AST, state: State
) -> Value | None:
    """Return what a call gives that can have nothing to do with models; None if it has to be run."""
    cls: ClassInfo | None = None
    seen: set[int] = set()
    quiet, heap = machine.quiet, state.heap
    if receiver is not None:
        if len(receiver.refs) != 1 or receiver.symbols:
            return None
        oid = next(iter(receiver.refs))
        known = heap[oid].cls
        if heap[oid].kind != INSTANCE or not isinstance(known, ClassInfo):
            return None
        cls = known
    summary = quiet.summary(function, cls)
    if summary is None or takes_modules(machine, function):
        return None
    if receiver is not None and not quiet.holds_nothing(oid, heap, seen):
        return None
    if not all(quiet.is_quiet(value, heap, seen) for value in args.every()):
        return None
    for module, name in summary.reads:
        value = state.variables.find((machine.ensure_module(module, state), name))
        if value is not None and not quiet.is_quiet(value, heap, set()):
            return None
    havoc(summary, seen, heap)
    return _result(machine, summary.result, function, receiver, args, node, state)


def _result(
    machine: Machine,
    result: Result,
    function: FunctionInfo,
    receiver: Value | None,
    args: Args,
    node: ast.AST,
    state: State,
) -> Value:
    """Return the value that `result` stands for."""
    values = list(given_values(function, result.given, receiver, args)) if result.given else []
    if result.consts:
        values.append(Value(consts=result.consts))
    if result.anything:
        values.append(NOTHING)
    if result.fresh:
        values.append(machine.out_of_sight(node, args, state))
    for cls in result.made:
        made = Obj(INSTANCE, cls, "", machine.site(node), cls.name, UNKNOWN_MODES, UNKNOWN_WEIGHTS, {})
        values.append(machine.allocate(node, state, made, cls))
    if result.places:
        places = [_result(machine, place, function, receiver, args, node, state) for place in result.places]
        attrs = {str(index): value for index, value in enumerate(places)}
        values.append(machine.container(node, state, attrs, "list"))
    return join_all(values)


def handed_back(function: FunctionInfo, receiver: Value | None, args: Args, state: State) -> Value | None:
    """Return the model that a function that is not run is given and gives back: `to_device(net, device)`."""
    name = function.memo.get(handed_back)
    if name is None:
        name = function.memo[handed_back] = _parameter_given_back(function)
    for index, (parameter, _) in enumerate(parameters(function)):
        if parameter.arg == name:
            given = args.get(name, index - (receiver is not None))
            if given is not None and given.refs and all(state.heap[oid].kind == MODEL for oid in given.refs):
                return given
    return None


def _parameter_given_back(function: FunctionInfo) -> str:
    """Return the parameter that all returns but those of lists give back, perhaps moved; "" where there is none."""
    stored = {node.id for node in own(function, ast.Name) if isinstance(node.ctx, ast.Store)}
    found = set()
    for node in own(function, ast.Return):
        value = node.value
        if isinstance(value, (ast.List, ast.ListComp, ast.Tuple, ast.Dict, ast.DictComp)):
            continue  # of each of several
        value = unmoved(value)
        found.add(value.id if isinstance(value, ast.Name) and value.id not in stored else "")
    return found.pop() if len(found) == 1 else ""


def after_inert(value: Value, function: FunctionInfo) -> Value:
    """Return what comes out of a function that is not run: one that decides or compares cuts the graph."""
    if not value.taint or KEEPS_GRAPH.search(function.name):
        return value
    decides = not _DECIDES.isdisjoint(function.callees)
    compares = any(isinstance(op, (ast.Eq, ast.NotEq)) for node in own(function, ast.Compare) for op in node.ops)
    return value._replace(taint=perhaps_cut_off(value.taint)) if decides or compares else value


def gives_numbers(function: FunctionInfo) -> bool:
    """Tell whether a function that is not run makes plain numbers of what it is given, and keeps nothing."""
    return not _NUMBERS.isdisjoint(function.callees) and _keeps_nothing(function)


def only_computes(machine: Machine, function: FunctionInfo) -> bool:
    """Tell whether a function that is not run hands what it is given to nobody out of sight, and keeps nothing.

    What it hands to torch and numpy, and to the methods of tensors, comes back in its result.
    """
    known: bool | None = function.memo.get(only_computes)
    if known is None:
        function.memo[only_computes] = False  # what calls itself is left alone
        known = function.memo[only_computes] = _keeps_nothing(function) and all(
            _is_computed_by(machine, function, call) for call in function.calls
        )
    return known


def _is_computed_by(machine: Machine, function: FunctionInfo, call: ast.Call) -> bool:
    symbol = machine.project.resolve_in(function, call.func)
    if symbol is None:
        func = call.func
        if not isinstance(func, ast.Attribute):
            return hasattr(builtins, last_name(func) or "")
        return func.attr in _KEEP_NOTHING or func.attr in KEEPS  # into what the function begins itself
    if isinstance(symbol.target, FunctionInfo):
        return only_computes(machine, symbol.target)
    return symbol.target is None and symbol.dotted.split(".")[0] in _COMPUTES


def _keeps_nothing(function: FunctionInfo) -> bool:
    """Tell whether a function puts nothing into containers and attributes, and no graph into what it is named for."""
    if KEEPS_GRAPH.search(function.name) or "grad" in function.callees or own(function, ast.Global, ast.Nonlocal):
        return False
    made = {name for name, _ in assignments(function)}
    begun = {name for name in made if _is_begun(values_of(function, name))}
    if any(not _is_of(call, begun) for call in function.calls_of(*KEEPS)):
        return False
    stored = (node for node in own(function, ast.Attribute, ast.Subscript) if isinstance(node.ctx, ast.Store))
    held = (holder(node) for node in stored)
    return all(isinstance(place, ast.Name) and place.id in made for place in held)


def _is_begun(values: list[ast.expr]) -> bool:
    """Tell whether a variable holds a new container, or later what a function of torch or numpy makes of that."""
    kept = [value for value in values if not _is_empty(value)]
    return len(kept) < len(values) and all(
        isinstance(value, ast.Call) and (dotted_name(value.func) or "").split(".")[0] in _MAKES_ANEW for value in kept
    )


_MAKES_ANEW = frozenset({"torch", "np", "numpy"})


def _is_empty(node: ast.expr) -> bool:
    """Tell whether this is a new container with nothing in it."""
    return (isinstance(node, ast.List) and not node.elts) or (isinstance(node, ast.Dict) and not node.keys)


def _is_of(call: ast.Call, names: set[str]) -> bool:
    func = call.func
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id in names


_KEEP_NOTHING = frozenset(
    "abs add all any argmax argmin argsort bmm bool chunk clamp clone contiguous copy count cpu cuda cumsum detach "
    "diag diagonal dim div dot double eq exp expand expand_as flatten flip float format gather ge get gt half index "
    "index_select int inverse item items join keys le log log_softmax logical_and logsumexp long lt masked_fill matmul "
    "max mean median min mm mul mv ne neg new_ones new_zeros norm numel numpy permute pow prod reciprocal relu remove "
    "repeat reshape roll round scatter sigmoid sign size softmax sort split sqrt square squeeze std strip sub sum "
    "t tanh to tolist topk transpose type unbind unique unsqueeze values var view view_as where".split()
)
"""Methods by which tensors compute, and by which containers give: nobody keeps what these are given."""
_COMPUTES = frozenset({"torch", "numpy", "math", "einops"})
_NUMBERS = frozenset({"item", "tolist", "numpy"})
_DECIDES = frozenset("argmax topk detach item tolist numpy eq".split())
