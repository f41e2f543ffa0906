"""Calls into libraries by what is known of them: models come from loaders, go through wrappers, and are run."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from modellint.catalog.framework import Argument, Effect, Fact
from modellint.static import dependence
from modellint.static.flow import data
from modellint.static.flow.events import FITTED, FORWARD
from modellint.static.flow.machine import Machine
from modellint.static.flow.modes import set_mode
from modellint.static.flow.state import State
from modellint.static.flow.values import (
    CONTAINER,
    ELEMENT,
    EVAL,
    INSTANCE,
    LOADED,
    METHODS_UNSEEN,
    MIXED,
    MODEL,
    NOTHING,
    OFF,
    OPAQUE,
    SPREAD,
    TRAIN,
    UNKNOWN,
    UNKNOWN_MODES,
    UNKNOWN_WEIGHTS,
    Args,
    ClassValue,
    External,
    Grad,
    GradContext,
    Inherited,
    ModeFact,
    Modes,
    Obj,
    Value,
    kinds,
    only_constant,
)
from modellint.static.flow.vocabulary import MODEL_NAME
from modellint.static.knowledge import ABSENT, SOMETHING, UNSURE, settle
from modellint.static.project import ClassInfo
from modellint.static.project.facts import argument_given

HELD = "model"
"""The attribute in which an object that runs a model keeps it."""


SAVED_WHOLE = "torch.load()"
"""What left a model in the mode in which it was saved as a whole."""

IDENTITY = "modellint.identity"
"""The outside name of a function that returns its argument."""


def given_for(args: Args, argument: Argument) -> Value | None:
    """Return the value given for `argument`, None where the call leaves it out."""
    for name in argument.names:
        owner = name.partition(".")[0]
        if owner in args.keywords:
            return args.keywords[owner]
    return args.get(None, argument.position)


def known_of(args: Args, argument: Argument, state: State) -> Any:
    """Return what is known of an argument: a constant, or one of the words of `settle`.

    Behind a dot stands a keyword that the object given was made with: `config.dropout`.
    """
    made_with = argument.names[0].partition(".")[2] if argument.names else ""
    value = given_for(args, argument)
    if value is None:
        return ABSENT if args.starred is None else UNSURE
    if made_with:
        return _made_with(value, made_with, state)
    constant = only_constant(value)
    if constant is not None:
        return constant[0]
    return UNSURE if value.refs or value.consts is not None else SOMETHING


def _made_with(value: Value, name: str, state: State) -> Any:
    if len(value.refs) != 1:
        return UNSURE
    obj = state.heap[next(iter(value.refs))]
    if obj.kind != INSTANCE or not isinstance(obj.cls, str) or SPREAD in obj.attrs:
        return UNSURE
    constant = only_constant(obj.attrs[name]) if name in obj.attrs else (ABSENT,)
    return UNSURE if constant is None else constant[0]


def effect_of(fact: Fact, args: Args, state: State) -> Effect:
    """Return what a call with `args` does."""
    return settle(fact, lambda argument: known_of(args, argument, state))


def origins(machine: Machine, obj: Obj) -> Iterator[str]:
    """Yield the outside names that tell what an object is: its class, what made it, or its bases out of sight."""
    if isinstance(obj.cls, ClassInfo):
        yield from machine.project.ancestry(obj.cls)[1]
    elif obj.cls is not None:
        yield obj.cls
        owner, _, method = obj.cls.rpartition(".")
        if method[:1].islower() and owner.rpartition(".")[2][:1].isupper():
            yield owner  # made by a class method


def inherited(machine: Machine, symbol: ClassValue, name: str) -> Inherited | None:
    """Return the loader `name` that a class of the project has from a library, None if it has none."""
    for base in machine.project.ancestry(symbol.cls)[1]:
        if machine.knowledge.loaders.get(f"{base}.{name}") is not None:
            return Inherited(f"{base}.{name}", symbol.cls)
    return None


def inherited_wrapper(machine: Machine, cls: ClassInfo) -> str | None:
    """Return the wrapper of a library that a class of the project builds on, None if it builds on none."""
    return next((base for base in machine.project.ancestry(cls)[1] if machine.knowledge.wrappers.get(base)), None)


def load(
    machine: Machine, dotted: str, fact: Fact, args: Args, node: ast.Call, state: State, cls: ClassInfo | None = None
) -> Value:
    """A model comes from a library; `cls` is its class where that is in the project."""
    effect = effect_of(fact, args, state)
    site = machine.site(node)
    whole = dotted == "torch.load"  # usually a state dict, sometimes a module
    if whole:
        depends = dependence.Dependence(dependence.UNKNOWN)
    elif cls is None:
        depends = machine.classes.of_external(dotted, node)
    else:
        depends = machine.classes.dependence(cls)
    obj = Obj(
        OPAQUE if whole else MODEL,
        cls or dotted,
        "",
        site,
        dotted,
        frozenset({ModeFact(UNKNOWN, site, SAVED_WHOLE)}) if whole else _modes(machine, effect.mode, dotted, node),
        frozenset({effect.weights}),
        {METHODS_UNSEEN: NOTHING} if effect.methods == UNKNOWN else {},
        depends.answer,
        depends.detail,
        not whole,
        effect.grad == OFF,
        hints=depends.hints,
    )
    model = machine.allocate(node, state, obj, "loaded")
    return _places(machine, effect.returns, model, node, state)


def _places(machine: Machine, returns: tuple[str, ...], model: Value, node: ast.Call, state: State) -> Value:
    """Return the model, or the tuple that it stands in."""
    if len(returns) == 1:
        return model
    places = {str(index): _returned(word, model) for index, word in enumerate(returns)}
    return machine.container(node, state, {**places, ELEMENT: NOTHING}, "list")


def _returned(word: str, model: Value) -> Value:
    if word == "model":
        return model
    return NOTHING if word == "other" else Value(symbols=(External(f"modellint.{word}"),))


def _modes(machine: Machine, mode: str, dotted: str, node: ast.AST) -> Modes:
    if mode not in (TRAIN, EVAL, MIXED):
        return UNKNOWN_MODES
    return frozenset({ModeFact(mode, machine.site(node), f"{dotted}()")})


def wrap(machine: Machine, dotted: str, fact: Fact, args: Args, node: ast.Call, state: State) -> Value:
    """A wrapper is taken for what it wraps: it hands calls, modes and weights on."""
    effect = effect_of(fact, args, state)
    if effect.returns == ("arguments",):
        handed = (*args.positional, *(value for name, value in args.keywords.items() if _HANDED_BACK.match(name)))
        if args.starred is not None or not handed:
            return machine.out_of_sight(node, args, state)
        if len(handed) == 1:
            return handed[0]
        return machine.container(node, state, {str(i): v for i, v in enumerate(handed)}, "list")
    given = given_for(args, fact.model) if fact.model is not None else args.get(None, 0)
    if given is None:
        given = next((args.keywords[n] for n in ("model", "module", "mod", "func") if n in args.keywords), None)
    if given is None:
        return Value(symbols=(External(IDENTITY),))  # `torch.compile(mode=...)` as a decorator
    in_place = args.get("inplace", _IN_PLACE.get(dotted.rpartition(".")[2]))
    if dotted in _COPIED and (in_place is None or only_constant(in_place) == (False,)):
        given = _copied(machine, given, node, state, _COPIED[dotted])
        if effect.mode == "same":
            return given
    for oid in given.refs:
        if effect.mode == EVAL:
            set_mode(oid, _modes(machine, effect.mode, dotted, node), state)
        obj = state.heap[oid]
        if obj.kind == OPAQUE:
            obj = obj._replace(kind=MODEL, proven=True)
        if effect.mode == MIXED and kinds(obj.modes) != {TRAIN}:
            obj = obj._replace(modes=_modes(machine, effect.mode, dotted, node))
        elif effect.mode == "unknown":
            obj = obj._replace(modes=UNKNOWN_MODES)
        if effect.weights != "same":
            obj = obj._replace(weights=frozenset({effect.weights}))
        state.heap[oid] = obj._replace(attrs={**obj.attrs, "module": Value(refs=frozenset({oid}))})
    return _places(machine, effect.returns, given, node, state)


_HANDED_BACK = re.compile(r"^(models?|modules?|optimi[sz]ers?)$")
"""Arguments given by keyword that come back as they were: `amp.initialize(models=net, optimizers=sgd)`."""

_IN_PLACE = {
    "prepare": 1,
    "prepare_qat": 2,
    "fuse_modules": 2,
    "fuse_modules_qat": 2,
    "quantize_dynamic": 4,
    "quantize": 4,
}
"""At which place these take `inplace`."""
_QUANTISE_GRAPH = "prepare_fx prepare_qat_fx fuse_fx".split()
_COPIED = {
    "copy.deepcopy": 4,
    "torch.optim.swa_utils.AveragedModel": 4,
    "copy.copy": 0,
    **{f"torch.{ao}quantization.{name}": 4 for ao in ("ao.", "") for name in _IN_PLACE},
    **{f"torch.{ao}quantization.quantize_fx.{name}": 4 for ao in ("ao.", "") for name in _QUANTISE_GRAPH},
}
"""What makes a copy of a model unless told to work in place, and down to which depth of what it holds."""


def _copied(machine: Machine, value: Value, node: ast.Call, state: State, depth: int) -> Value:
    """Return copies of the objects of `value`, and of what they hold to the given depth; of each object, one."""
    held: dict[int, dict[str, Value]] = {}
    level = sorted(value.refs)
    for _ in range(depth + 1):
        for oid in level:
            attrs = state.heap[oid].attrs.items()
            held[oid] = {name: inner for name, inner in attrs if not _comes_anew(machine, oid, name, inner, state)}
        level = sorted({ref for oid in level for inner in held[oid].values() for ref in inner.refs} - held.keys())
    place = (node.lineno, node.col_offset, machine.frame.chain)
    copies = {oid: machine.number(("copy", oid, *place)) for oid in held}

    def copy(inner: Value) -> Value:
        return inner._replace(refs=frozenset(copies.get(oid, oid) for oid in inner.refs)) if inner.refs else inner

    for oid, kept in held.items():
        attributes = {name: copy(inner) for name, inner in kept.items()}
        is_part = state.heap[oid].part and oid not in value.refs  # what is copied by itself stands alone
        state.heap[copies[oid]] = state.heap[oid]._replace(name="", attrs=attributes, part=is_part)
    return copy(value)


def _comes_anew(machine: Machine, owner: int, name: str, held: Value, state: State) -> bool:
    """Tell whether a copy makes the attribute `name` for itself when asked for it: itself, or a made-up part."""
    if owner in held.refs:
        return True
    return any(machine.owners.get(ref) == (owner, name) and state.heap[ref].kind == OPAQUE for ref in held.refs)


def context(machine: Machine, fact: Fact, args: Args, node: ast.Call, state: State) -> Value:
    """Make a context manager that switches autograd or the mode of models; some act at once."""
    if args.positional and not fact.cases and fact.effect.mode == "same":  # `torch.no_grad(f)`
        return args.positional[0]
    effect = effect_of(fact, args, state)
    site = machine.site(node)
    models: frozenset[int] = frozenset()
    if effect.mode != "same":
        given = given_for(args, fact.model) if fact.model is not None else None
        values = (given,) if given is not None else args.positional
        models = frozenset(oid for value in values for oid in _models(value, state))
        if args.starred is not None and given is None:  # `eval_mode(*networks)`: any of them
            effect = dataclasses.replace(effect, mode=UNKNOWN)
            models |= {oid for oid, obj in state.heap.everything().items() if obj.kind == MODEL}
    made = GradContext(effect.grad, site, effect.mode, models)
    if fact.immediate and effect.grad != "same":
        state.grad = Grad(effect.grad, site)
    return Value(symbols=(made,))


def run_by(machine: Machine, dotted: str, fact: Fact, args: Args, node: ast.Call, state: State) -> Value:
    """Make an object that runs a model by itself: a trainer, a pipeline, a predictor."""
    effect = effect_of(fact, args, state)
    given = given_for(args, fact.model) if fact.model is not None else None
    attrs = dict(args.keywords)
    if given is not None:
        attrs[HELD] = given
    if args.starred is not None:
        attrs[SPREAD] = args.starred
    for oid in _models(given, state):
        _leave(machine, oid, effect.mode, effect.weights, dotted, node, state)
    obj = Obj(INSTANCE, dotted, "", machine.site(node), dotted, UNKNOWN_MODES, UNKNOWN_WEIGHTS, attrs)
    return machine.allocate(node, state, obj, "runner")


def act(
    machine: Machine, name: str, fact: Fact, args: Args, node: ast.Call, state: State, receiver: int | None = None
) -> Value:
    """Run, load into or switch a model: what the method belongs to, what that object holds, or an argument."""
    effect = effect_of(fact, args, state)
    value: Value | None = None
    if fact.model is not None:
        value = given_for(args, fact.model)
    elif receiver is None:
        value = args.get(None, 0)
    if value is None and receiver is not None:
        held = state.heap[receiver]
        value = held.attrs.get(HELD) if held.kind == INSTANCE else Value(refs=frozenset({receiver}))
    results = NOTHING
    if effect.runs == "inference" and value is not None and value.symbols:
        results = _run_function(machine, value, effect, args, node, state)
    for oid in _models(value, state):
        obj = state.heap[oid]
        number = None
        if effect.runs == "inference":
            saved = state.grad
            if effect.grad != "same":
                state.grad = saved._replace(state=effect.grad)
            if effect.mode != "same":
                state.heap[oid] = obj._replace(modes=_modes(machine, effect.mode, name, node))
            number = machine.note(FORWARD, node, oid, state, _text(fact, node)[:60], name)
            state.grad, state.heap[oid] = saved, obj
        elif effect.runs == "training":
            _note_training(machine, oid, fact, name, node, state)
        weights = LOADED if effect.runs == "training" else effect.weights
        _leave(machine, oid, effect.leaves, weights, name, node, state)
        if effect.runs == "nothing" and effect.grad != "same":  # what it leaves the parameters in
            state.heap[oid] = state.heap[oid]._replace(frozen=effect.grad == OFF)
        results = results.with_taint(data.result_of(machine, number, args, state).taint)
    if results.taint or effect.runs == "inference":
        return results.with_taint(args.taint)
    if effect == Effect():
        return results  # it only looks at the model
    return machine.out_of_sight(node, args, state)


def _note_training(machine: Machine, oid: int, fact: Fact, name: str, node: ast.Call, state: State) -> None:
    """Record that a library trains a model, and the models that this one holds: `fit(Task(self.net))`."""
    held = {ref for value in state.heap[oid].attrs.values() for ref in value.refs if state.heap[ref].kind == MODEL}
    for each in (oid, *sorted(held)):
        number = machine.note(FITTED, node, each, state, _text(fact, node)[:60], name)
        if number is not None:
            machine.recorder.events[number].training = True


def _text(fact: Fact, node: ast.Call) -> str:
    """Return how a call writes the model that it is given; without one, what it calls."""
    given = None if fact.model is None else argument_given(node, fact.model.names, fact.model.position)
    return ast.unparse(node.func if given is None else given)


def _run_function(machine: Machine, function: Value, effect: Effect, args: Args, node: ast.Call, state: State) -> Value:
    """Run a function that is given in the place of a model: `sliding_window_inference(x, 96, 4, lambda x: net(x))`."""
    saved = state.grad
    if effect.grad != "same":
        state.grad = saved._replace(state=effect.grad)
    result = machine.call_value(Value(symbols=function.symbols), Args((Value(taint=args.taint),)), node, state)
    state.grad = saved
    return result


def _leave(machine: Machine, oid: int, mode: str, weights: str, name: str, node: ast.Call, state: State) -> None:
    if mode != "same":
        set_mode(oid, _modes(machine, mode, name, node), state)
    if weights != "same":
        state.heap[oid] = state.heap[oid]._replace(weights=frozenset({weights}))


def _models(value: Value | None, state: State) -> Iterator[int]:
    """Yield the models that `value` is or holds."""
    for oid in value.refs if value is not None else ():
        obj = state.heap[oid]
        if obj.kind == MODEL or (obj.kind == OPAQUE and (obj.proven or MODEL_NAME.match(obj.name))):
            yield oid
        elif obj.kind == CONTAINER:
            for inner in obj.attrs.values():
                yield from (r for r in inner.refs if state.heap[r].kind == MODEL)
