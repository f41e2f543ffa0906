"""Models that code out of sight got hold of since they were built: it may have loaded or trained them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from modellint.static.flow.state import State
from modellint.static.flow.values import (
    CONTAINER,
    INSTANCE,
    LOADED,
    MODEL,
    OPAQUE,
    RANDOM,
    AnySymbol,
    Args,
    BoundMethod,
    Children,
    Obj,
    Parameters,
    Value,
    only_constant,
)
from modellint.static.flow.vocabulary import MODEL_NAME
from modellint.static.project import FunctionInfo
from modellint.static.project.names import last_name

if TYPE_CHECKING:
    from modellint.static.flow.machine import Machine

_LOOKS_ONLY = re.compile(
    r"^(print|repr|str|id|type|hash|debug|info|warn\w*)$|count|num_param|n_param|summary|flops|\bmacs|describe|"
    r"device|dtype|watch|add_graph|log_",
    re.I,
)
"""Names of functions that look at a model and leave its weights alone."""

_PARAMETER = re.compile(r"^(data|weight|bias)$|_(weight|bias)$")
"""Attributes that hold weights."""

WRITES = frozenset("copy_ set_ set_data lerp_ swap_tensors add_ sub_ addcmul_ addcdiv_".split())
"""Methods of a tensor that give it other values than an initialisation does; a mere factor (`mul_`) is part of one."""

_SAYS = re.compile(r"(^|_)(sizes?|dims?|shape|config|cfg|stride|width|height|channels|names?|dtype|device)$|_features$")
"""Names of what a model says of itself: whoever reads `model.visual.image_size` gets none of its weights."""

_PURE = frozenset({RANDOM})


def touch(machine: Machine, oid: int, state: State) -> None:
    """Note that somebody may have given weights to an object, and so to what it is a part of, and to its parts."""
    _mark(oid, state)
    seen = {oid}
    while oid in machine.owners:
        oid = machine.owners[oid][0]
        if oid in seen or state.heap.find(oid) is None:
            return
        seen.add(oid)
        state.heap[oid] = state.heap[oid]._replace(touched=True)


def _mark(oid: int, state: State) -> None:
    """Touch an object and what it holds, also of one that was touched before: by a part of it, or as it was built."""
    waiting, seen = [oid], {oid}
    while waiting:
        current = waiting.pop()
        obj = state.heap.find(current)
        if obj is None:
            continue
        if obj.kind in (MODEL, OPAQUE) and not obj.touched:
            state.heap[current] = obj._replace(touched=True)
        for value in obj.attrs.values():
            if not value.refs <= seen:
                waiting += value.refs - seen
                seen |= value.refs


def touch_given(machine: Machine, node: ast.AST, args: Args, state: State) -> None:
    """Touch the models, and the owners of the parameters, that a call of something out of sight is given."""
    if not any(value.refs or value.symbols for value in args.every()):
        return
    name = last_name(node.func) if isinstance(node, ast.Call) else None
    if name is not None and _LOOKS_ONLY.search(name):
        return
    for value in args.every():
        touch_value(machine, value, state)


def touch_value(machine: Machine, value: Value, state: State) -> None:
    """Touch what `value` may be: a model, something that holds models, or the parameters of one."""
    for oid in value.refs:
        obj = state.heap[oid]
        is_part = oid in machine.owners and not (obj.kind == OPAQUE and _SAYS.search(obj.name))
        if obj.kind in (MODEL, INSTANCE, CONTAINER) or is_part:
            touch(machine, oid, state)
    for symbol in value.symbols:
        owner = _owner(symbol)
        if owner is not None:
            touch(machine, owner, state)


def _owner(symbol: AnySymbol) -> int | None:
    """Return the model whose parameters or parts `symbol` stands for, or a method or attribute of those."""
    while isinstance(symbol, BoundMethod) and symbol.receiver.symbols:
        symbol = symbol.receiver.symbols[0]
    return symbol.owner if isinstance(symbol, (Parameters, Children)) else None


def may_write(function: FunctionInfo) -> bool:
    """Tell whether a function that runs and builds no model may give one weights."""
    return not WRITES.isdisjoint(function.callees) or any(_LOADING.search(name) for name in function.callees)


_LOADING = re.compile(r"load|restore|resume|from_numpy|vector_to_parameters")


def touch_attribute(machine: Machine, owner: Value, name: str, value: Value, state: State) -> None:
    """Touch the models that get weights where the attribute `name` of `owner` is set to `value`."""
    weights = _PARAMETER.search(name) is not None
    for symbol in owner.symbols:
        model = _owner(symbol)
        if weights and model is not None:
            touch(machine, model, state)
    brings = [state.heap[oid] for oid in value.refs if _brings_weights(state.heap[oid], state)]
    building = machine.frame.receiver is not None and owner.refs == machine.frame.receiver.refs
    if building and machine.frame.function.name == "__init__" and all(map(is_from_library, brings)):
        brings = []  # told from the parts, when the model runs
    if weights or brings:
        for oid in owner.refs:
            if state.heap[oid].kind in (MODEL, OPAQUE):
                touch(machine, oid, state)


def _brings_weights(obj: Obj, state: State) -> bool:
    model = obj.kind == MODEL or (obj.kind == OPAQUE and MODEL_NAME.match(obj.name) is not None)
    return model and (has_been_given_weights(obj) or any(True for _ in parts_with_weights(obj, state)))


def is_from_library(obj: Obj) -> bool:
    """Tell whether a model came from a library with its weights, and nothing else got hold of it since."""
    return isinstance(obj.cls, str) and obj.weights == frozenset({LOADED}) and not obj.touched


_MAX_DEPTH = 4


def parts_with_weights(obj: Obj, state: State, depth: int = 0) -> Iterator[Obj]:
    """Yield the models that were put into `obj` and may hold other weights than those of an initialisation."""
    for held in obj.attrs.values():
        for part in (state.heap.find(oid) for oid in held.refs):
            if part is None or part.kind != MODEL or part.part:
                continue
            if has_been_given_weights(part):
                yield part
            elif part.attrs and depth < _MAX_DEPTH:
                yield from parts_with_weights(part, state, depth + 1)


def built_from_weights(args: Args, state: State) -> bool:
    """Tell whether a model is built around another one that has weights, or from a file of weights, by its name."""
    for value in args.every():
        held = [inner for oid in value.refs for inner in state.heap[oid].attrs.values()]
        parts = [_owner(symbol) for item in (value, *held) for symbol in item.symbols]
        oids = {*value.refs, *(oid for item in held for oid in item.refs), *(oid for oid in parts if oid is not None)}
        if any(obj is not None and _brings_weights(obj, state) for obj in map(state.heap.find, oids)):
            return True
        if value.consts is not None and any(isinstance(c, str) and _WEIGHTS_FILE.search(c) for c in value.consts):
            return True
    return any(
        _WEIGHTS_ARGUMENT.search(name) is not None and only_constant(value) not in ((None,), (False,))
        for name, value in args.keywords.items()
    )


_WEIGHTS_FILE = re.compile(r"\.(pt|pth|ckpt|bin|safetensors|tar|pkl|h5|npz|npy|onnx|pdparams)$", re.I)
_WEIGHTS_ARGUMENT = re.compile(r"pretrain|checkpoint|ckpt|weights?(_path|_file)?$|state_dict|resume|snapshot", re.I)


def has_been_given_weights(obj: Obj) -> bool:
    """Tell whether an object may hold other weights than those it was initialised with."""
    return obj.touched or obj.weights != _PURE
