"""Calls: evaluate what is called and with what, then hand over to what knows that kind of callee."""

from __future__ import annotations

import ast
import sys

from modellint.static.flow.annotated import declare_made
from modellint.static.flow.construct import construct
from modellint.static.flow.externals import call_external
from modellint.static.flow.forwards import class_of, forward
from modellint.static.flow.libraries import inherited, inherited_wrapper, load, run_by
from modellint.static.flow.machine import Machine
from modellint.static.flow.modulemethods import SAME
from modellint.static.flow.names import member_value
from modellint.static.flow.objects import call_method, call_object
from modellint.static.flow.state import State
from modellint.static.flow.targets import (
    MAX_ALTERNATIVES,
    TAINT_HELD,
    attribute_put,
    class_variable,
    entries,
    part_of,
    unpacked,
)
from modellint.static.flow.values import (
    CONTAINER,
    INSTANCE,
    MODEL,
    NONE,
    NOTHING,
    OPAQUE,
    Args,
    BoundMethod,
    Children,
    ClassValue,
    External,
    FunctionValue,
    Grad,
    GradContext,
    Inherited,
    ModuleValue,
    Partial,
    SavedMode,
    Value,
    comes_of_forwards,
    constant,
    cut_off,
    join,
    join_all,
)
from modellint.static.project import ModuleInfo, Symbol

_SWITCHES = frozenset({"train", "eval", "forward"})
_SHAPES = frozenset({"shape", "device", "dtype", "ndim"})


def arguments(machine: Machine, node: ast.Call, state: State) -> Args:
    """Evaluate the arguments of a call."""
    positional = []
    spread: Value | None = None
    keywords: dict[str, Value] = {}
    for item in node.args:
        if isinstance(item, ast.Starred):
            value = machine.eval(item.value, state)
            known = unpacked(value, state)
            if known is not None and spread is None:
                positional += known
                continue
            spread = value if spread is None else join(spread, value)
        else:
            positional.append(machine.eval(item, state))
    for keyword in node.keywords:
        value = machine.eval(keyword.value, state)
        named = entries(value, state) if keyword.arg is None else None
        if named is not None:
            keywords |= named
        elif keyword.arg is None:
            spread = value if spread is None else join(spread, value)
        else:
            keywords[keyword.arg] = value
    return Args(tuple(positional), keywords, spread)


def call_node(machine: Machine, node: ast.Call, state: State) -> Value:
    """Evaluate a call expression."""
    func = node.func
    if isinstance(func, ast.Attribute):
        callee = attribute(machine, machine.eval(func.value, state), func.attr, state, called=True)
    else:
        callee = machine.eval(func, state)
    args = arguments(machine, node, state)
    return call_value(machine, callee, args, node, state)


def call_value(machine: Machine, callee: Value, args: Args, node: ast.Call, state: State) -> Value:
    """Call everything that `callee` may be, and join what comes back."""
    results: list[Value] = []
    for symbol in callee.symbols:
        if isinstance(symbol, BoundMethod):
            results.append(call_method(machine, symbol.receiver, symbol.name, args, node, state))
        elif isinstance(symbol, External):
            results.append(call_external(machine, symbol.dotted, args, node, state))
        elif isinstance(symbol, FunctionValue):
            results.append(call_function(machine, symbol, args, node, state))
        elif isinstance(symbol, ClassValue):
            known = (
                machine.knowledge.runners.get(symbol.dotted) if _is_own_library(machine, symbol.cls.module) else None
            )
            wrapper = inherited_wrapper(machine, symbol.cls)
            if known is not None:
                results.append(run_by(machine, symbol.dotted, known, args, node, state))
            elif wrapper is not None and args.positional and args.positional[0].refs:
                results.append(call_external(machine, wrapper, Args(args.positional[:1]), node, state))
            else:
                results.append(construct(machine, symbol, args, node, state))
        elif isinstance(symbol, Inherited):
            fact = machine.knowledge.loaders.get(symbol.dotted)
            assert fact is not None
            results.append(load(machine, symbol.dotted, fact, args, node, state, symbol.cls))
        elif isinstance(symbol, Partial):
            given = symbol.args
            merged = Args(given.positional + args.positional, {**given.keywords, **args.keywords}, args.starred)
            saved = state.grad
            if symbol.switch is not None:
                state.grad = Grad(symbol.switch.grad, symbol.switch.site)
            results.append(call_value(machine, symbol.callee, merged, node, state))
            state.grad = saved
            declare_made(machine, symbol, results[-1], state)
        elif isinstance(symbol, Children) and state.heap[symbol.owner].kind == MODEL:
            results.append(forward(machine, symbol.owner, args, node, state))  # `self._modules[name](x)`
        elif isinstance(symbol, GradContext):  # used as a decorator: the function it is given
            results.append(_wrapped(symbol, args.positional[0]) if args.positional else NOTHING)
    for oid in callee.refs:
        results.append(call_object(machine, oid, args, node, state))
    if not results:
        if callee == NOTHING:  # picked by a name that is not known: `MODELS[args.arch](10)`
            return machine.out_of_sight(node, args, state)
        return Value(taint=callee.taint | args.taint)
    result = join_all(results)
    methods_only = not callee.refs and all(isinstance(s, BoundMethod) for s in callee.symbols)
    return result if methods_only else result.with_taint(callee.taint)


def _wrapped(context: GradContext, value: Value) -> Value:
    """Return the functions and networks of `value` decorated with an autograd switch."""
    functions = tuple(s._replace(grad=context) for s in value.symbols if isinstance(s, FunctionValue))
    classes = tuple(s for s in value.symbols if isinstance(s, ClassValue))
    others = Value(value.refs, tuple(s for s in value.symbols if not isinstance(s, (FunctionValue, ClassValue))))
    run = () if others == NOTHING else (Partial(others, Args(), context),)
    return Value(symbols=(*functions, *classes, *run))


def _is_own_library(machine: Machine, module: ModuleInfo) -> bool:
    """Tell whether a file may belong to the library itself, where that is the project: not just a file of its name."""
    return "." in machine.project.paths.dotted(module.path)


def call_function(machine: Machine, symbol: FunctionValue, args: Args, node: ast.Call, state: State) -> Value:
    """Call a function of the project, or what the libraries' knowledge says about one of that name."""
    known = machine.knowledge
    told = known.loaders.get(symbol.dotted) or known.wrappers.get(symbol.dotted)
    if told is not None and _is_own_library(machine, symbol.function.module):
        return call_external(machine, symbol.dotted, args, node, state)
    return machine.call(symbol, None, args, node, state)


def attribute(machine: Machine, owner: Value, name: str, state: State, called: bool = False) -> Value:
    """Return `owner.name`; `called` where it is about to be called, so that a method needs no object of its own."""
    if name in _SHAPES and not owner.symbols:
        return NOTHING
    parts: list[Value] = []
    for symbol in owner.symbols:
        put = attribute_put(machine, symbol, name, state) if isinstance(symbol, (External, FunctionValue)) else None
        if put is not None:
            parts.append(put)
        elif isinstance(symbol, External):
            parts.append(member_value(machine, Symbol(symbol.dotted), name, state))
        elif isinstance(symbol, ModuleValue):
            parts.append(member_value(machine, symbol.symbol, name, state))
        elif isinstance(symbol, ClassValue):
            parts.append(_class_attribute(machine, symbol, name, state))
        else:
            parts.append(Value(symbols=(BoundMethod(name, Value(symbols=(symbol,), taint=owner.taint)),)))
    alike: set[int] = set()
    for oid in owner.refs if name in _OF_ALL or len(owner.refs) <= MAX_ALTERNATIVES else ():
        part = _object_attribute(machine, oid, name, state, called)
        if name in _OF_ALL and part.symbols == (BoundMethod(name, Value(refs=frozenset({oid}))),):
            alike.add(oid)  # however many they are: a value holds few symbols
        else:
            parts.append(part)
    if alike:
        parts.append(Value(symbols=(BoundMethod(name, Value(refs=frozenset(alike))),)))
    if name == "data" and owner.taint:
        machine.recorder.use(owner.taint, "detached")  # how detach() was written before torch 0.4
        return Value(taint=cut_off(owner.taint))
    unknown = called and any(state.heap[oid].kind == OPAQUE and not state.heap[oid].proven for oid in owner.refs)
    if not parts or (unknown and comes_of_forwards(owner.taint)):
        # nothing is known of the owner but what it was computed from: its methods keep that
        bound = BoundMethod(name, Value(taint=owner.taint, consts=owner.consts))
        parts.append(Value(symbols=(bound,)))
    return join_all(parts).with_taint(owner.taint)


_OF_ALL = SAME | {"eval", "train"}
"""Methods that every model has, and that are followed for however many of them."""


_ENUM = "enum.Enum"


def _class_attribute(machine: Machine, symbol: ClassValue, name: str, state: State) -> Value:
    held = class_variable(machine, symbol.cls, name, state)
    method = machine.project.method(symbol.cls, name)
    if method is None and _ENUM in machine.project.ancestry(symbol.cls)[1]:
        return constant(sys.intern(f"{symbol.cls.name}.{name}"))  # a member: itself, and like nothing else
    if held is not None:
        return held
    if method is None:
        return Value(symbols=(inherited(machine, symbol, name) or External(f"{symbol.dotted}.{name}"),))
    value = Value(symbols=(FunctionValue(method, None, name),))
    if method.is_classmethod:
        return Value(symbols=(Partial(value, Args((Value(symbols=(symbol,)),))),))
    return value


def _object_attribute(machine: Machine, oid: int, name: str, state: State, called: bool) -> Value:
    obj = state.heap[oid]
    me = Value(refs=frozenset({oid}))
    if name == "training" and obj.kind in (MODEL, OPAQUE):
        return Value(symbols=(SavedMode(obj.modes, oid),))
    if name in obj.attrs and name != TAINT_HELD:
        return obj.attrs[name]
    if name == "_modules" and obj.kind == MODEL:
        return Value(symbols=(Children(oid),))
    held = obj.attrs[TAINT_HELD].taint if TAINT_HELD in obj.attrs else frozenset()
    cls = class_of(obj)
    method = machine.project.method(cls, name) if cls is not None else None
    if method is not None and method.is_property:
        value = machine.call(FunctionValue(method, None, name), me, Args(), method.node or me, state)  # type: ignore[arg-type]
        if method.is_cached:  # whoever reads it next gets the same object
            state.heap[oid] = state.heap[oid]._replace(attrs={**state.heap[oid].attrs, name: value})
        return value
    if obj.kind == INSTANCE and cls is not None and method is None:
        shared = class_variable(machine, cls, name, state)
        if shared is not None and shared != NONE:
            return shared
    if called or method is not None or obj.kind == CONTAINER or (obj.kind == MODEL and name in _SWITCHES):
        return Value(symbols=(BoundMethod(name, me),), taint=held)
    return part_of(machine, oid, name, state).with_taint(held)
