"""The methods that every torch module has: modes change here, weights arrive."""

from __future__ import annotations

import ast

from modellint.static.dependence import YES, Dependence
from modellint.static.flow import data
from modellint.static.flow.construct import is_mere_layer, modes_kept, training_from, with_part
from modellint.static.flow.events import EVAL_AGAIN
from modellint.static.flow.forwards import forward, looks_like_model, written
from modellint.static.flow.machine import Machine
from modellint.static.flow.modes import GRADIENTS_ASKED, set_frozen, set_mode
from modellint.static.flow.state import State
from modellint.static.flow.targets import LEAF_HELD, TAINT_HELD, set_attribute
from modellint.static.flow.touching import touch
from modellint.static.flow.values import (
    EVAL,
    JUST_BUILT,
    LOADED,
    MODEL,
    NOTHING,
    OPAQUE,
    TRAIN,
    UNKNOWN,
    UNKNOWN_WEIGHTS,
    Args,
    Children,
    Facts,
    ModeFact,
    Modes,
    Obj,
    Parameters,
    SavedMode,
    Value,
    comes_of_forwards,
    kinds,
    only_constant,
)
from modellint.static.flow.vocabulary import NOT_MODELS

SAME = frozenset(
    "to cuda cpu half float double bfloat16 type share_memory xpu apply to_empty requires_grad_ compile ipu hpu".split()
)
"""Methods of a module that return the module."""


def builtin(machine: Machine, oid: int, name: str, args: Args, node: ast.Call, state: State) -> Value | None:
    """Evaluate the methods that every torch module has; None for any other."""
    obj = state.heap[oid]
    me = Value(refs=frozenset({oid}))
    if name == "eval" and not args.every():
        if kinds(obj.modes) == {EVAL} and all(f.site is not None and f.by_eval for f in obj.modes):
            machine.note(EVAL_AGAIN, node, oid, state, written(node))
        set_mode(oid, frozenset({ModeFact(EVAL, machine.site(node), "eval()")}), state)
        return me
    if name in ("train", "set_training_mode") and (modes := _train_argument(machine, obj, args, node)) is not None:
        set_mode(oid, modes, state)
        return me
    if name == "requires_grad_":
        if only_constant(args.get("requires_grad", 0) or NOTHING) == (False,):
            set_frozen(oid, True, state)
        elif obj.kind == OPAQUE and not obj.proven:
            leaf = machine.leaf(node)
            state.heap[oid] = obj._replace(attrs={**obj.attrs, LEAF_HELD: Value(taint=frozenset({leaf}))})
            return me.with_taint(frozenset({leaf}))
        else:
            switched = Value(consts=frozenset({machine.site(node)}))
            set_frozen(oid, False, state)
            state.heap[oid] = state.heap[oid]._replace(attrs={**obj.attrs, GRADIENTS_ASKED: switched})
        return me
    if name in SAME:
        if name == "apply" and args.positional and not args.positional[0].refs:  # `algorithm.apply(model)` runs nothing
            parts = Value(symbols=(Children(oid),))
            machine.call_value(args.positional[0], Args((parts,)), node, state)
        return me
    if name in ("add_module", "register_module") and len(args.positional) == 2:
        known, part = only_constant(args.positional[0]), args.positional[1]
        if known is not None and isinstance(known[0], str):
            set_attribute(machine, me, known[0], part, state, node)
        state.heap[oid] = _filled(machine, state.heap[oid], part, state)
        return NOTHING
    if name == "append" and obj.cls == _SEQUENTIAL and len(args.positional) == 1:
        state.heap[oid] = _filled(machine, obj, args.positional[0], state)
        return me
    if name == "load_state_dict":
        if not _is_optimizer(obj):
            _load_weights(machine, oid, _weights_given(machine, node, state), node, state)
        return NOTHING
    if name in ("parameters", "named_parameters"):
        state.heap[oid] = obj._replace(proven=True)
        return Value(symbols=(Parameters(oid),))
    if name in ("modules", "children", "named_modules", "named_children"):
        state.heap[oid] = obj._replace(proven=True)
        return Value(symbols=(Children(oid),))
    if name in ("state_dict", "zero_grad", "buffers", "named_buffers", "register_forward_hook"):
        if name == "state_dict":
            touch(machine, oid, state)  # its tensors are the weights: whoever gets them can fill them
        return NOTHING
    if name in ("forward", "__call__") and (obj.kind == MODEL or looks_like_model(obj)):
        return forward(machine, oid, args, node, state)
    if name == "backward" or (name == "train" and len(args.every()) == 1 and args.taint):
        # an engine that is given the loss, whatever else it was given before, or a value object that holds one
        held = obj.attrs[TAINT_HELD].taint if TAINT_HELD in obj.attrs else frozenset()
        data.backward(machine, args.taint if comes_of_forwards(args.taint) else args.taint | held)
        return NOTHING
    return None


_SEQUENTIAL = "torch.nn.Sequential"


def _filled(machine: Machine, obj: Obj, part: Value, state: State) -> Obj:
    """Return a module after it was given `part`: a Sequential depends on the mode if one of its parts does."""
    if obj.cls != _SEQUENTIAL or obj.depends == YES:
        return obj
    known = Dependence(obj.depends, obj.detail, hints=obj.hints)
    unseen = Dependence(UNKNOWN, hints=obj.hints)
    after = with_part(machine, known, part, state) if part.refs else unseen
    if after is known:
        return obj
    modes = obj.modes | modes_kept(part, state)
    return obj._replace(modes=modes, depends=after.answer, detail=after.detail, hints=after.hints)


def _is_optimizer(obj: Obj) -> bool:
    return obj.kind != MODEL and NOT_MODELS.search(obj.name) is not None


def _train_argument(machine: Machine, obj: Obj, args: Args, node: ast.Call) -> Modes | None:
    """Return the modes that `.train(...)` sets; None where this is no mode switch."""
    if obj.kind == OPAQUE and NOT_MODELS.search(obj.name) and not obj.proven:
        return None
    values = args.every()
    if len(values) > 1 or args.taint:
        return None
    site = machine.site(node)
    if not values:
        return frozenset({ModeFact(TRAIN, site, "train()")})
    known = only_constant(values[0])
    if known is not None:
        if not isinstance(known[0], bool):
            return None
        return frozenset({ModeFact(TRAIN if known[0] else EVAL, site, f"train({known[0]})")})
    saved = [s for s in values[0].symbols if isinstance(s, SavedMode)]
    if saved:
        return saved[0].modes
    if obj.kind == OPAQUE and not looks_like_model(obj):
        return None
    return frozenset({ModeFact(UNKNOWN, site, "train(...)")})


def _weights_given(machine: Machine, node: ast.Call, state: State) -> Facts:
    """Return what `load_state_dict` loads: the weights of another model are no better than they were there."""
    given = node.args[0] if node.args else None
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr == "state_dict":
        owners = [state.heap[oid] for oid in machine.eval(given.func.value, state).refs]
        if owners and any(owner.weights != frozenset({LOADED}) for owner in owners):
            return UNKNOWN_WEIGHTS
    return frozenset({LOADED})


def _load_weights(machine: Machine, oid: int, weights: Facts, node: ast.Call, state: State) -> None:
    touch(machine, oid, state)
    obj = state.heap[oid]
    modes = obj.modes
    if obj.is_mere_result:
        # what a factory out of sight returned and still needs its weights was just built: in training mode
        modes = training_from(obj.born or machine.site(node), JUST_BUILT)
    state.heap[oid] = obj._replace(
        kind=MODEL if obj.kind == OPAQUE else obj.kind, weights=weights, proven=True, modes=modes
    )
    _load_parts(oid, weights, state, {oid})
    _load_whole(machine, oid, weights, node, state)


def _load_whole(machine: Machine, oid: int, weights: Facts, node: ast.Call, state: State) -> None:
    """Give weights to a model too whose method loads them into its only part that learns: `self.body.load_state_dict`.

    The part that was loaded may be one of torch's containers; beside it stand layers of torch that learn nothing.
    """
    part = node.func.value if isinstance(node.func, ast.Attribute) else None
    if not isinstance(part, ast.Attribute) or not isinstance(part.value, (ast.Name, ast.Attribute)):
        return
    for owner in machine.eval(part.value, state).refs:
        whole = state.heap[owner]
        inner = {ref for held in whole.attrs.values() for ref in held.refs if state.heap[ref].kind == MODEL}
        beside = (state.heap[ref] for ref in inner - {oid})
        if whole.kind == MODEL and oid in inner and all(is_mere_layer(obj, machine.quiet.weights) for obj in beside):
            state.heap[owner] = whole._replace(weights=weights)


def _load_parts(oid: int, weights: Facts, state: State, seen: set[int]) -> None:
    """Give the weights that a whole was given to the modules registered in it that were built in sight."""
    for value in state.heap[oid].attrs.values():
        for inner in value.refs - seen:
            seen.add(inner)
            if state.heap[inner].kind == MODEL:
                state.heap[inner] = state.heap[inner]._replace(weights=weights)
                _load_parts(inner, weights, state, seen)
