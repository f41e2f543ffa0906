"""Where values go: assignment to names, attributes, elements; and what a loop takes out of a container."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

from modellint.static.dependence import NO
from modellint.static.flow.machine import Machine
from modellint.static.flow.modes import set_flag, set_frozen
from modellint.static.flow.names import member_value, some_member
from modellint.static.flow.state import State
from modellint.static.flow.touching import touch_attribute
from modellint.static.flow.values import (
    COLLECTIONS,
    CONTAINER,
    ELEMENT,
    INSTANCE,
    METHODS_UNSEEN,
    MODEL,
    NOTHING,
    OPAQUE,
    TRAIN,
    UNKNOWN,
    UNKNOWN_MODES,
    Args,
    Children,
    ClassValue,
    External,
    FunctionValue,
    ModuleValue,
    Obj,
    Parameters,
    Value,
    join,
    join_all,
    only_constant,
)
from modellint.static.flow.vocabulary import HELD_MODEL, MODEL_NAME
from modellint.static.guards import own
from modellint.static.naming import PREPARES_DATA
from modellint.static.project import ClassInfo, FunctionInfo

MAX_UNROLL = 6
LEAF_HELD = "<leaf>"
"""The attribute that remembers that a tensor was made to require a gradient."""

TAINT_HELD = "<held>"
"""The attribute in which an object of unknown class keeps what forwards gave it."""


def assign(machine: Machine, target: ast.expr, value: Value, state: State) -> None:
    """Bind `value` to `target`."""
    if isinstance(target, ast.Name):
        state.forget_condition(target.id)
        christen(target.id, value, state)
        state.variables[variable_key(machine, target.id, state), target.id] = value
    elif isinstance(target, (ast.Tuple, ast.List)):
        beside = _beside_containers(value, state)
        for index, item in enumerate(target.elts):
            if isinstance(item, ast.Starred):
                assign(machine, item.value, _rest(machine, value, index, len(target.elts), state, item), state)
            else:
                held = element(machine, value, str(index), state, target).with_taint(beside)
                _detach(held, state)
                assign(machine, item, held, state)
    elif isinstance(target, ast.Attribute):
        state.forget_condition(target.attr)
        christen(target.attr, value, state)
        owner = machine.eval(target.value, state)
        machine.recorder.keep(value.taint, target)
        set_attribute(machine, owner, target.attr, value, state, target)
        _thaw(machine, owner, value, state)
        if target.attr == "requires_grad" and only_constant(value) == (True,):
            taint_variable(machine, target.value, frozenset({machine.leaf(target)}), state)
    elif isinstance(target, ast.Subscript):
        owner = machine.eval(target.value, state)
        key = index_key(machine, target.slice, state)
        machine.recorder.keep(value.taint, target.value)
        for oid in owner.refs:
            store(state, oid, key, value)
        _thaw(machine, owner, value, state)
        if not owner.refs and value.taint:
            taint_variable(machine, target.value, value.taint, state)  # a tensor that is filled bit by bit
    elif isinstance(target, ast.Starred):
        assign(machine, target.value, value, state)


def _thaw(machine: Machine, owner: Value, value: Value, state: State) -> None:
    """Let a frozen model require gradients again where a layer that learns is put into it: a new head is trained."""
    if not _learns(value.refs, state):
        return
    seen: set[int] = set()
    queue = [*owner.refs, *(s.owner for s in owner.symbols if isinstance(s, Children))]
    for oid in queue:
        obj = state.heap.find(oid)
        if obj is None or oid in seen:
            continue
        seen.add(oid)
        if obj.frozen:
            state.heap[oid] = obj._replace(frozen=False)
        if oid in machine.owners:
            queue.append(machine.owners[oid][0])


def _learns(refs: Iterable[int], state: State) -> bool:
    """Tell whether one of some objects is a layer of torch that learns, or a chain with one."""
    queue, seen = list(refs), set(refs)
    for oid in queue:
        obj = state.heap[oid]
        if obj.kind != MODEL or obj.frozen or not isinstance(obj.cls, str):
            continue
        if _LEARNS.match(obj.cls) is not None:
            return True
        held = {part for value in obj.attrs.values() for part in value.refs} - seen
        seen |= held
        queue += held
    return False


_LEARNS = re.compile(r"torch\.nn\.(Linear|Conv\dd|ConvTranspose\dd|Embedding|LSTM|GRU|RNN)$")


def _detach(value: Value, state: State) -> None:
    """Let what was unpacked be a whole of its own: `model, spline = fitted` takes no model apart."""
    for oid in value.refs:
        obj = state.heap[oid]
        if obj.kind == OPAQUE and obj.part and obj.name.startswith("["):
            state.heap[oid] = obj._replace(part=False)


def _beside_containers(value: Value, state: State) -> frozenset[int]:
    """Return what a value carries that is in none of the containers that it may be: another alternative brings that."""
    waiting, seen, left = set(value.refs), set(value.refs), value.taint
    while waiting and left:
        found = [obj for oid in waiting if (obj := state.heap.find(oid)) is not None and obj.kind == CONTAINER]
        held = [item for obj in found for item in obj.attrs.values()]
        left = left.difference(*(item.taint for item in held))
        waiting = {oid for item in held for oid in item.refs} - seen
        seen |= waiting
    return left


def _rest(machine: Machine, value: Value, index: int, targets: int, state: State, node: ast.AST) -> Value:
    """Return the list that `*rest` gets, the target at `index` of so many."""
    obj = state.heap[next(iter(value.refs))] if len(value.refs) == 1 else None
    if obj is not None and obj.kind == CONTAINER and in_order(obj):
        kept = list(obj.attrs.values())[index : len(obj.attrs) - (targets - index - 1)]
        return machine.container(node, state, {str(n): held for n, held in enumerate(kept)}, "list")
    return machine.container(node, state, {ELEMENT: iterate(machine, value, state, node)}, "list")


def christen(name: str, value: Value, state: State) -> None:
    """Let an object without a name, or with a mere place in another, take that of the first variable that holds it.

    So does what nobody would take for a model by its name where a variable calls it one: `self.model = nets["a"]`. It
    stands by itself then. What it is as an attribute, the attribute says: `policy = built.eval_mode`.
    """
    for oid in value.refs:
        obj = state.heap[oid]
        is_place = obj.name.startswith("[")
        unseen = obj.kind == OPAQUE and obj.cls is None and (is_place or not obj.part)
        if unseen and MODEL_NAME.match(name) and not MODEL_NAME.match(obj.name):
            state.heap[oid] = obj._replace(name=name, part=False)
        elif not obj.name or is_place:
            state.heap[oid] = obj._replace(name=name)


def taint_variable(machine: Machine, node: ast.expr, taint: frozenset[int], state: State) -> None:
    """Note that the tensor held by the name `node` is computed from more: a leaf, or what is written into it."""
    if isinstance(node, ast.Name):
        key = (variable_key(machine, node.id, state), node.id)
        state.variables[key] = (state.variables.find(key) or NOTHING).with_taint(taint)


def variable_key(machine: Machine, name: str, state: State) -> int:
    """Return the frame in which an assignment to `name` lands."""
    frame = machine.frame
    declared = frame.declared.get(name)
    if declared == "global":
        return machine.module_frame(frame.module)
    if declared == "nonlocal":
        parent = frame.parent
        while parent is not None:
            if state.variables.find((parent, name)) is not None:
                return parent
            parent = machine.parents.get(parent)
    return frame.id


def class_home(machine: Machine, cls: ClassInfo) -> int:
    """Return the number under which the variables of a class are kept, beside those of the frames."""
    return machine.number(("class", cls))


def class_variable(machine: Machine, cls: ClassInfo, name: str, state: State) -> Value | None:
    """Return the value of a variable of `cls` or of a base class; None where none was assigned in sight."""
    for owner in machine.project.ancestry(cls)[0]:
        value = state.variables.find((class_home(machine, owner), name))
        if value is None and name in owner.scope.stores:
            machine.ensure_module(owner.module, state)  # a class is known from its text, its variables from running it
            value = state.variables.find((class_home(machine, owner), name))
        if value is not None:
            return value
    return None


def _home(owner: FunctionValue | External) -> tuple[str, FunctionInfo | str]:
    """Return what stands for the attributes of a function, or of an object of a library: as in
    `infer.model = build()`, `flask.g.model = build()`."""
    return "attributes", owner.function if isinstance(owner, FunctionValue) else owner.dotted


def attribute_put(machine: Machine, owner: FunctionValue | External, name: str, state: State) -> Value | None:
    """Return the attribute that was assigned to what is no object here; None where none was assigned in sight."""
    number = machine.known_number(_home(owner))
    return state.variables.find((number, name)) if number is not None else None


def set_attribute(machine: Machine, owner: Value, name: str, value: Value, state: State, node: ast.AST) -> None:
    """Set the attribute `name` of every object that `owner` may be."""
    touch_attribute(machine, owner, name, value, state)
    for symbol in owner.symbols:
        if isinstance(symbol, ClassValue):
            state.variables[class_home(machine, symbol.cls), name] = value
        if isinstance(symbol, FunctionValue) or (isinstance(symbol, External) and value.refs):
            state.variables[machine.number(_home(symbol)), name] = value
        if isinstance(symbol, Children) and name == "training":
            state.heap[symbol.owner] = state.heap[symbol.owner]._replace(modes=UNKNOWN_MODES)
        if isinstance(symbol, Parameters) and name == "requires_grad" and only_constant(value) == (False,):
            set_frozen(symbol.owner, True, state)
    for oid in owner.refs:
        obj = state.heap[oid]
        if name == "training" and obj.kind in (MODEL, OPAQUE):
            set_flag(oid, value, machine.site(node), state)
        else:
            state.heap[oid] = obj._replace(attrs={**obj.attrs, name: value}, perhaps=obj.perhaps - {name})
            setter = machine.project.setter(obj.cls, name) if isinstance(obj.cls, ClassInfo) else None
            if setter is not None and setter is not machine.frame.function and not own(setter, ast.Return):
                # else it may leave all as it is, where it knows already what it is told
                itself = Value(refs=frozenset({oid}))
                machine.call(FunctionValue(setter, None, name), itself, Args((value,)), node, state)


def store(state: State, oid: int, key: str, value: Value) -> None:
    """Put `value` under `key` into the container `oid`; without a known key it joins all the others."""
    obj = state.heap[oid]
    attrs = dict(obj.attrs)
    attrs[key] = join(attrs[key], value) if key == ELEMENT and key in attrs else value
    state.heap[oid] = obj._replace(attrs=attrs, kind=CONTAINER if obj.kind == OPAQUE and not obj.proven else obj.kind)


def delete(machine: Machine, target: ast.expr, state: State) -> None:
    """Unbind `target`."""
    if isinstance(target, ast.Name):
        state.variables.pop((machine.frame.id, target.id), None)
    elif isinstance(target, ast.Tuple):
        for item in target.elts:
            delete(machine, item, state)


def in_order(obj: Obj) -> bool:
    """Tell whether every element of a list or tuple is known, with its place."""
    return all(key == str(place) for place, key in enumerate(obj.attrs))


def unpacked(value: Value, state: State) -> list[Value] | None:
    """Return the elements of a list or tuple all of whose places are known."""
    if len(value.refs) != 1 or value.symbols:
        return None
    obj = state.heap[next(iter(value.refs))]
    return list(obj.attrs.values()) if obj.kind == CONTAINER and obj.how == "list" and in_order(obj) else None


def entries(value: Value, state: State) -> Mapping[str, Value] | None:
    """Return the entries of a dictionary all of whose keys are known."""
    if len(value.refs) != 1 or value.symbols:
        return None
    obj = state.heap[next(iter(value.refs))]
    return obj.attrs if obj.kind == CONTAINER and obj.how == "dict" and ELEMENT not in obj.attrs else None


def index_key(machine: Machine, node: ast.expr, state: State) -> str:
    """Return the key under which a container keeps the element `[node]`."""
    return key_of(machine.eval(node, state))


def key_of(index: Value) -> str:
    """Return the key under which a container keeps the element at `index`."""
    known = only_constant(index)
    if known is None or not isinstance(known[0], (str, int, bool)):
        return ELEMENT
    return known[0] if isinstance(known[0], str) else str(known[0])


_DICT = ".__dict__"


def member_by_name(machine: Machine, value: Value, state: State) -> Value:
    """Return the member of a module that a name picks which is not known: `getattr(models, args.arch)`."""
    names = [s.dotted.removesuffix(_DICT) for s in value.symbols if isinstance(s, External)]
    found = [Value(symbols=(_some_member_of(name),)) for name in names]
    found += [some_member(machine, s.symbol, state) for s in value.symbols if isinstance(s, ModuleValue)]
    return join_all(found)


def _some_member_of(name: str) -> External:
    return External(f"{name}.<name>")


def _factories(machine: Machine, value: Value) -> list[Value]:
    """Return what a library's tables of factories hold, whichever is picked: `sam_model_registry["vit_b"]`."""
    found = (_some_member_of(symbol.dotted) for symbol in value.symbols if isinstance(symbol, External))
    return [Value(symbols=(entry,)) for entry in found if machine.knowledge.loaders.get(entry.dotted) is not None]


def _from_the_front(obj: Obj, key: str) -> str:
    """Return the place that a negative index stands for; any element where that cannot be told."""
    if obj.kind != CONTAINER or obj.how == "dict" or not key.startswith("-") or not key[1:].isdigit():
        return key
    return str(len(obj.attrs) + int(key)) if in_order(obj) else ELEMENT


MAX_ALTERNATIVES = 64
"""What may be more objects than these may be anything: parts made up for each would double again and again."""


def element(machine: Machine, value: Value, key: str, state: State, node: ast.AST) -> Value:
    """Return `value[key]`."""
    if len(value.refs) > MAX_ALTERNATIVES:
        value = Value(symbols=value.symbols, taint=value.taint)
    owners = [s.owner for s in value.symbols if isinstance(s, Children)] if key != ELEMENT else []
    parts = [part_of(machine, owner, f"[{key}]", state) for owner in owners]  # `list(net.children())[0]`
    kinds = Parameters if owners else (Parameters, Children)
    symbols = tuple(s for s in value.symbols if isinstance(s, kinds))
    parts += [Value(symbols=symbols)] if symbols else []
    by_name = any(isinstance(s, External) and s.dotted.endswith(_DICT) for s in value.symbols)
    modules = [s.symbol for s in value.symbols if isinstance(s, ModuleValue)]
    other = any(module.target is not machine.frame.module for module in modules)  # `globals()[name]` may be anything
    if by_name or (other and key == ELEMENT):
        parts.append(member_by_name(machine, value, state))  # `models.__dict__[args.arch]`
    elif modules:
        parts += [member_value(machine, module, key, state) for module in modules]
    parts += _factories(machine, value)
    exact = bool(value.refs)
    asked = key
    for oid in value.refs:
        obj = state.heap[oid]
        key = _from_the_front(obj, asked)
        if obj.kind == CONTAINER and key in obj.attrs and key != ELEMENT:
            parts.append(obj.attrs[key])
            continue
        exact = False
        if obj.kind == CONTAINER:
            if key == ELEMENT or ELEMENT in obj.attrs:
                held = [v for k, v in obj.attrs.items() if k != TAINT_HELD] if key == ELEMENT else [obj.attrs[ELEMENT]]
                parts.append(join_all(held))
        elif key in obj.attrs:
            parts.append(obj.attrs[key])
        elif obj.cls in COLLECTIONS and obj.attrs:
            parts.append(join_all(obj.attrs.values()))
        elif obj.kind == OPAQUE and obj.cls == "torch.load":
            parts.append(_entry(machine, oid, key, "", state))
        elif obj.kind == OPAQUE and not obj.proven and HELD_MODEL.match(key):
            parts.append(_entry(machine, oid, key, key, state))  # `kwargs["model"]`
        elif _holds_several(obj) and (key == ELEMENT or key.lstrip("-").isdigit()):
            parts.append(_one_of(machine, oid, state))  # what a loop over it gets, too
        elif obj.kind in (MODEL, OPAQUE):
            parts.append(part_of(machine, oid, f"[{key}]", state))
    if exact:
        return join_all(parts)  # what is known of the element itself; the whole is tainted by all of them
    return join_all(parts).with_taint(value.taint) if parts else Value(taint=value.taint)


def _entry(machine: Machine, oid: int, key: str, name: str, state: State) -> Value:
    """Return what is held under `key`: of a checkpoint perhaps a whole model, in the mode in which it was saved."""
    number = machine.number(("entry", oid, key))
    if state.heap.find(number) is None:
        state.heap[number] = state.heap[oid]._replace(name=name, how="", attrs={})
    value = Value(refs=frozenset({number}))
    state.heap[oid] = state.heap[oid]._replace(attrs={**state.heap[oid].attrs, key: value})
    return value


def part_of(machine: Machine, oid: int, name: str, state: State) -> Value:
    """Return the attribute `name` of an object, made up now: part of a model, or something unknown."""
    obj = state.heap[oid]
    if name == "module" and obj.kind == MODEL and not _stores(machine, obj, name):
        return Value(refs=frozenset({oid}))  # written for models that may be wrapped for several devices
    key = machine.number(("part", oid, name))
    if state.heap.find(key) is None:
        state.heap[key] = _made_up(machine, obj, name)
        machine.owners[key] = (oid, name)
    value = Value(refs=frozenset({key}))
    state.heap[oid] = obj._replace(attrs={**obj.attrs, name: value})
    return value


def _made_up(machine: Machine, obj: Obj, name: str) -> Obj:
    """Return what the attribute `name` of an object may be, of which nothing but the object is known."""
    cls = obj.cls if isinstance(obj.cls, ClassInfo) else None
    kept = machine.classes.object_kept(cls, name) if cls is not None else None
    inside = obj.kind in (MODEL, OPAQUE) and kept is None
    if PREPARES_DATA.search(name):
        inside = cls is not None and machine.classes.builds_child(cls, name)
    if inside and cls is not None and any(fact.by_constructor for fact in obj.modes):
        # built and never switched since: an attribute that is no child built in sight may be in any mode, and so may
        # the parts of a class of which nothing tells that it depends on one
        telling = obj.depends != UNKNOWN or obj.hints or machine.classes.dependence(cls).hints
        inside = telling and machine.classes.builds_child(cls, name)
    if inside and cls is not None and any(f.by_library and f.mode == TRAIN for f in obj.modes):
        inside = not machine.classes.loads_child(cls, name)  # a loader of the whole calls no train()
    modeless = inside and cls is not None and machine.classes.has_no_mode(cls, name)
    return Obj(
        OPAQUE if kept is None else INSTANCE,
        kept,
        name,
        obj.born,
        obj.how,
        obj.modes if inside else UNKNOWN_MODES,
        obj.weights,
        {name: held for name, held in obj.attrs.items() if name == METHODS_UNSEEN},
        proven=False,
        part=inside,
        frozen=obj.frozen,
        touched=obj.touched,
        depends=NO if modeless else obj.depends if inside else UNKNOWN,
        detail=obj.detail if inside and not modeless else "",
    )


def _stores(machine: Machine, obj: Obj, attribute: str) -> bool:
    return isinstance(obj.cls, ClassInfo) and machine.classes.stores(obj.cls, attribute)


def elements(machine: Machine, node: ast.expr, value: Value, state: State) -> list[Value] | None:
    """Return the elements that a loop runs over where they are few and all known, else None."""
    if len(value.refs) != 1 or value.symbols:
        return None
    obj = state.heap[next(iter(value.refs))]
    if obj.kind != CONTAINER or ELEMENT in obj.attrs or not 0 < len(obj.attrs) <= MAX_UNROLL:
        return None
    if obj.how == "dict":
        return [Value(consts=frozenset({key})) for key in obj.attrs]
    items = list(obj.attrs.values())
    interesting = any(v.refs or (v.consts and any(isinstance(c, (str, bool)) for c in v.consts)) for v in items)
    return items if interesting else None


def iterate(machine: Machine, value: Value, state: State, node: ast.AST) -> Value:
    """Return what one turn of a loop over `value` gets."""
    parts = [Value(symbols=tuple(s for s in value.symbols if isinstance(s, (Parameters, Children))))]
    for oid in value.refs:
        obj = state.heap[oid]
        if obj.kind == CONTAINER:
            parts.append(join_all(v for k, v in obj.attrs.items() if k != TAINT_HELD))
        elif _holds_several(obj):
            parts.append(_one_of(machine, oid, state))
        elif obj.kind == MODEL and isinstance(obj.cls, str) and obj.attrs:
            parts.append(join_all(obj.attrs.values()))  # a ModuleList, a Sequential
        elif (obj.kind == MODEL and not obj.cls) or (obj.kind == OPAQUE and obj.part):
            parts.append(part_of(machine, oid, ELEMENT, state))
    found = [part for part in parts if part != NOTHING]
    return join_all(found).with_taint(value.taint) if found else Value(taint=value.taint)


def assign_each(machine: Machine, target: ast.expr, iterable: Value, state: State, node: ast.expr) -> None:
    """Bind `target` to what one turn of a loop over `iterable` gets.

    Of something that is kept and unknown a variable gets a model of unknown origin where it is called like one. What a
    call hands out, actors of a game say, may be anything.
    """
    value = iterate(machine, iterable, state, node)
    assign(machine, target, value, state)
    if value == NOTHING and _is_kept(node):
        for name in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(name, ast.Name) and MODEL_NAME.match(name.id):
                found = machine.opaque(state, ("turn", machine.site(node), name.id), name.id, UNKNOWN_MODES)
                assign(machine, name, found, state)


def _is_kept(node: ast.expr) -> bool:
    """Tell whether a loop runs over a variable, an attribute or an element, or over the values of one."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("items", "values"):
        node = node.func.value
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))


def _holds_several(obj: Obj) -> bool:
    """Tell whether an object out of sight, or what a library loads, is a list of models, as its name says."""
    loaded = obj.kind == MODEL and isinstance(obj.cls, str) and not obj.cls.startswith("torch.")
    return (obj.kind == OPAQUE or loaded) and obj.name.endswith(_SEVERAL)


def _one_of(machine: Machine, oid: int, state: State) -> Value:
    """Return one of a list of models: a whole of its own, which is what a library loads where that gave the list."""
    several = state.heap[oid]
    value = part_of(machine, oid, _singular(several.name), state)
    for number in value.refs:
        state.heap[number] = state.heap[number]._replace(part=False, cls=several.cls)
    return value


_SEVERAL = ("models", "nets", "networks", "ensemble", "s_model", "model_parts")


def _singular(name: str) -> str:
    return name[:-1] if name.endswith("s") and not name.endswith("parts") else "model"
