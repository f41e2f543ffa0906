"""What a file or a constructor leaves empty and one function or method fills, as servers do when they start up."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from modellint.static.flow.binding import unknown_arguments
from modellint.static.flow.callfacts import CallFacts
from modellint.static.flow.frames import Frame
from modellint.static.flow.machine import Exhausted, Machine
from modellint.static.flow.state import State, VariableKey
from modellint.static.flow.values import (
    CONTAINER,
    ENTRY_MODES,
    MODEL,
    NONE,
    NOTHING,
    OPAQUE,
    FunctionValue,
    Value,
    only_constant,
)
from modellint.static.flow.vocabulary import MODEL_NAME
from modellint.static.guards import own, walk_own
from modellint.static.narrowing import attribute_of
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo
from modellint.static.project.callers import is_imported
from modellint.static.project.facts import parameters
from modellint.static.project.names import asked_of_super, dotted_name, last_name
from modellint.static.project.trees import walk

_FILLS = frozenset({"load_state_dict", "from_pretrained", "create_model", "load", "hub", "jit", "eval"})
MODE_WORDS = frozenset({"eval", "train", "set_training_mode"})
"""Words of functions that may switch a mode."""


def start_up(machine: Machine, module: ModuleInfo, base: State, facts: CallFacts) -> None:
    """Let the globals of `module` that are empty in `base` hold what the one function that fills them puts there.

    Where other functions switch modes, or other files speak of a global that a helper fills, the mode is left open:
    which of them ran before is not known.
    """
    home = machine.module_frame(module)
    _open_constants(module, base, home)
    fillers: dict[str, list[FunctionInfo]] = {}
    for function in module.functions:
        if function.parent is module.body and function.cls is None:
            filled = {name for name in _filled(function) if _is_empty(base, (home, name))}
            filled |= {text for text in _filled_attributes(function) if _lacks(base, home, text)}
            if filled and _gets_models(facts, function):
                for text in filled:
                    fillers.setdefault(text, []).append(function)
    for text, functions in fillers.items():
        name = text.split(".", 1)[0]
        if len(functions) > 1 or functions[0] in machine.called:
            continue
        after = base.over()
        machine.recorder.muted += 1
        machine.frames.append(Frame(home, module.body, None, ()))
        try:
            value = FunctionValue(functions[0], None, functions[0].name, True)
            machine.activate(value, None, unknown_arguments(machine, functions[0], after, None), (), after)
        except (Exhausted, RecursionError):
            continue
        finally:
            machine.begin()
        if name != text and not _holds_model(after, home, text):
            continue  # `args.model = "resnet18"`
        others = [f for f in module.functions if f is not functions[0] and not MODE_WORDS.isdisjoint(f.words)]
        handed_out = _FILLS.isdisjoint(functions[0].words) and is_imported(machine.project, module, name)
        _take_over(base, after, (home, name), bool(others) or handed_out)


def _gets_models(facts: CallFacts, function: FunctionInfo) -> bool:
    """Tell whether a function, or one that it calls, loads a model or gets one from a library."""
    ways = (function, *facts.callees(function))
    return any(not _FILLS.isdisjoint(way.words) or facts.loads(way) for way in ways)


def _open_constants(module: ModuleInfo, base: State, home: int) -> None:
    """Forget the constants that a file begins with and a function sets anew: `ready = False`, until it is."""
    for function in module.functions:
        for name in (name for node in own(function, ast.Global) for name in node.names):
            value = base.variables.find((home, name))
            if value is not None and value != NONE and only_constant(value) is not None:
                base.variables[home, name] = NOTHING


def _filled(function: FunctionInfo) -> Iterator[str]:
    """Yield the globals that a function assigns, or puts an element into."""
    for node in walk_own(function):
        if isinstance(node, ast.Global):
            yield from node.names
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            if node.value.id not in function.stores:
                yield node.value.id


def _filled_attributes(function: FunctionInfo) -> Iterator[str]:
    """Yield the attributes of globals that a function assigns and that are named for a model: `app.state.net`.

    Most others are options, which one function sets for the rest of the program: those are not followed.
    """
    for node in walk_own(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and MODEL_NAME.match(node.attr):
            text = dotted_name(node)
            if text is not None and text.split(".", 1)[0] not in function.stores:
                yield text


def _lacks(state: State, home: int, text: str) -> bool:
    """Tell whether a global is an object out of sight, such as a server, that was not given that attribute so far."""
    name, *path = text.split(".")
    value = state.variables.find((home, name))
    objects = [state.heap[oid] for oid in value.refs] if value is not None else []
    while path and objects and all(obj.kind == OPAQUE for obj in objects):
        held = [obj.attrs[path[0]] for obj in objects if path[0] in obj.attrs]
        if not held:
            return True
        path, objects = path[1:], [state.heap[oid] for inner in held for oid in inner.refs]
    return False


def _holds_model(state: State, home: int, text: str) -> bool:
    """Tell whether the attribute that `text` names is a model."""
    name, *path = text.split(".")
    value = state.variables.find((home, name))
    objects = [state.heap[oid] for oid in value.refs] if value is not None else []
    for part in path:
        objects = [state.heap[oid] for obj in objects if part in obj.attrs for oid in obj.attrs[part].refs]
    return any(obj.kind == MODEL for obj in objects)


def _is_empty(state: State, key: VariableKey) -> bool:
    value = state.variables.find(key)
    if value is None or value == NONE:
        return True
    objects = [state.heap[oid] for oid in value.refs]
    return bool(objects) and all(obj.kind == CONTAINER and not obj.attrs for obj in objects)


def _take_over(base: State, after: State, key: VariableKey, is_open: bool) -> None:
    """Give the variable `key` in `base` its value in `after`, with every object that this holds."""
    value = after.variables.find(key)
    if value is None:
        return
    queue, seen = list(value.refs), set()
    found = {}
    while queue:
        oid = queue.pop()
        obj = after.heap.find(oid)
        if oid in seen or obj is None:
            continue
        seen.add(oid)
        found[oid] = obj._replace(modes=obj.modes | ENTRY_MODES) if is_open and obj.kind == MODEL else obj
        queue += [inner for held in obj.attrs.values() for inner in held.refs]
    base.variables[key] = value
    base.heap.update(found)


def sets_up(method: FunctionInfo) -> bool:
    """Tell whether a method looks as if it set up an attribute that others run later, or loads something."""
    return _is_named_for_it(method) or not _LOADS.isdisjoint(method.words)


_LOADS = frozenset({"load_state_dict", "from_pretrained", "create_model", "hub", "jit"})


def fills_when_used(method: FunctionInfo) -> frozenset[str]:
    """Return the attributes that a method fills where it finds them empty: `if self._net is None: self._net = build()`.

    It asks for them in a condition, or looks what is missing up in vain: `except AttributeError:`.
    """
    known: frozenset[str] | None = method.memo.get(fills_when_used)
    if known is None:
        known = method.memo[fills_when_used] = assigned_to_self(method) & _asked_for(method)
    return known


def _asked_for(method: FunctionInfo) -> set[str]:
    asked: list[ast.AST] = [node.test for node in own(method, ast.If, ast.IfExp)]
    asked += [value for node in own(method, ast.BoolOp) for value in node.values[:1]]
    asked += [part for node in own(method, ast.Try) for part in node.body if any(map(_is_of_attributes, node.handlers))]
    found = (node for part in asked for node in walk(part))
    return {
        node.attr if isinstance(node, ast.Attribute) else str(node.value)
        for node in found
        if isinstance(node, (ast.Attribute, ast.Constant))
    }


def _is_of_attributes(handler: ast.ExceptHandler) -> bool:
    return handler.type is not None and last_name(handler.type) == "AttributeError"


def _is_named_for_it(method: FunctionInfo) -> bool:
    name = method.name.lower()
    words = ("load", "build", "setup", "set_up", "init", "create", "prepare", "configure")
    return name == "fit" or any(word in name for word in words)


def may_end_training(method: FunctionInfo) -> bool:
    """Tell whether a method may put a model into another mode than that for training."""
    if not MODE_WORDS.isdisjoint(method.words - {"train"}):
        return True
    return any(call.args or call.keywords for call in method.calls_of("train"))


def methods_of(family: Iterable[ClassInfo]) -> list[FunctionInfo]:
    """Return the methods of a class, of which `family` are the class itself and those before it."""
    found: dict[str, FunctionInfo] = {}
    for cls in family:
        for name, method in cls.methods.items():
            found.setdefault(name, method)
    return list(found.values())


def by_name(family: Iterable[ClassInfo]) -> dict[str, list[FunctionInfo]]:
    """Return all methods of a class and those before it, overridden ones too, by their names."""
    named: dict[str, list[FunctionInfo]] = {}
    for cls in family:
        for name, method in cls.methods.items():
            named.setdefault(name, []).append(method)
    return named


def left_to_callers(named: Mapping[str, list[FunctionInfo]]) -> Iterator[FunctionInfo]:
    """Yield the methods, of those `named`, that callers may run on an instance after its constructor.

    Not what is overridden and not called by way of `super()`, nor what the constructor ends with, if that takes nothing
    and asks nothing: run once more, it leaves the instance as it was.
    """
    family = [method for methods in named.values() for method in methods]
    init = next(iter(named.get("__init__", ())), None)
    last = _last_called(init) if init is not None else None
    above = {asked_of_super(call.func) for method in family for call in method.calls}
    for name, methods in named.items():
        if name == "__init__" or (name == last and all(map(_does_the_same_again, methods))):
            continue
        yield from methods if name in above else methods[:1]


def _does_the_same_again(method: FunctionInfo) -> bool:
    """Tell whether what a method does to modes hangs on nothing that is given to it or kept in its object."""
    asks = own(method, ast.If, ast.IfExp, ast.BoolOp, ast.While, ast.Try)
    told = any(call.args or call.keywords for call in method.calls_of("train"))
    told = told or any(asked_of_super(call.func) for call in method.calls)
    return len(list(parameters(method))) == 1 and not asks and not told


def _last_called(init: FunctionInfo) -> str | None:
    """Return the method of its own object that a constructor ends with a call of."""
    match init.body[-1:]:
        case [ast.Expr(value=ast.Call(func=func))]:
            return attribute_of(func, init.self_name or "")
    return None


def may_fill(named: Mapping[str, list[FunctionInfo]], method: FunctionInfo, attrs: Mapping[str, Value]) -> bool:
    """Tell whether a method, or one that it leads to, assigns an attribute that is not among `attrs`, or None there.

    `named` are the methods of the class and those before it.
    """
    waiting, seen = [method], {method}
    while waiting:
        current = waiting.pop()
        if not _REFLECTS.isdisjoint(current.words):
            return True
        if any(attrs.get(name) in (None, NONE) for name in assigned_to_self(current)):
            return True
        for name in current.callees & named.keys():
            waiting += [other for other in named[name] if other not in seen]
            seen.update(named[name])
    return False


_REFLECTS = frozenset({"setattr", "__dict__", "__setattr__"})


def fills(methods: Iterable[FunctionInfo], method: FunctionInfo, name: str, before: Value | None) -> bool:
    """Tell whether a method gives an attribute the value that others find, `before` when the object was made.

    What `__init__` leaves empty is filled when it is used, if this method assigns it and no other.
    """
    if before not in (None, NONE):
        return False
    if before is None and _is_named_for_it(method):
        return True
    return [m for m in methods if m.name != "__init__" and name in assigned_to_self(m)] == [method]


def assigned_to_self(method: FunctionInfo, empty: bool = False) -> frozenset[str]:
    """Return the attributes that a method assigns something other than None, or those that it sets to None."""
    known: tuple[frozenset[str], frozenset[str]] | None = method.memo.get(assigned_to_self)
    if known is None:
        known = method.memo[assigned_to_self] = _assigned_to_self(method)
    return known[empty]


def _assigned_to_self(method: FunctionInfo) -> tuple[frozenset[str], frozenset[str]]:
    emptied = {
        id(target)
        for node in own(method, ast.Assign)
        if isinstance(node.value, ast.Constant) and node.value.value is None
        for target in node.targets
    }
    stores = [n for n in own(method, ast.Attribute) if isinstance(n.ctx, ast.Store) and _names_self(n.value, method)]
    return (
        frozenset(node.attr for node in stores if id(node) not in emptied),
        frozenset(node.attr for node in stores if id(node) in emptied),
    )


def _names_self(node: ast.expr, method: FunctionInfo) -> bool:
    return isinstance(node, ast.Name) and node.id == method.self_name
