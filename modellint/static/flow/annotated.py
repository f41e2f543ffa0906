"""What a name says of objects that the flow knows too little of.

Of arguments their annotations: `tagger: nn.Module`, `sam: "Sam | None"`. Of what `Net.from_pretrained(path)` returns,
be it built from a configuration, the class that is asked for it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from modellint.static.dependence import UNKNOWN, YES
from modellint.static.flow.state import State
from modellint.static.flow.values import (
    INSTANCE,
    NOTHING,
    OPAQUE,
    SPREAD,
    ClassValue,
    FunctionValue,
    Obj,
    Partial,
    Value,
)
from modellint.static.given import CONTAINERS
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.callers import MAX_FILES
from modellint.static.project.facts import is_left_open, parameters
from modellint.static.project.names import last_name

if TYPE_CHECKING:
    from modellint.static.flow.machine import Machine


def declare(machine: Machine, function: FunctionInfo, argument: ast.arg, value: Value, state: State) -> None:
    """Put down what the annotation of an argument says of the objects given for it, where nothing else tells."""
    unknown = _unknown(value, state)
    if not unknown or argument.annotation is None or not _is_asked(function, argument.arg):
        return
    for node in classes_annotated(argument.annotation):
        symbol = machine.project.resolve_in(function, node)
        if symbol is None:
            continue
        for oid in unknown:
            state.heap[oid] = _as_one_of(machine, symbol.target, symbol.dotted, state.heap[oid])


def takes_modules(machine: Machine, function: FunctionInfo) -> bool:
    """Tell whether a function says by an annotation that it is given a torch module."""
    known: bool | None = function.memo.get(takes_modules)
    if known is None:
        named = (
            n
            for argument, _ in parameters(function)
            if argument.annotation
            for n in classes_annotated(argument.annotation)
        )
        known = function.memo[takes_modules] = any(machine.classes.names_module(function, node) for node in named)
    return known


def declare_made(machine: Machine, maker: Partial, made: Value, state: State) -> None:
    """Put down of what objects are that a class method made which is named for making them."""
    methods = (symbol for symbol in maker.callee.symbols if isinstance(symbol, FunctionValue))
    if maker.args.positional and any(_MAKES.match(method.dotted) for method in methods):
        declare_as(machine, maker.args.positional[0], made, state)


def declare_as(machine: Machine, named: Value, made: Value, state: State) -> None:
    """Put down that objects are of the class which `named` is, where nothing else tells."""
    cls = next((symbol for symbol in named.symbols if isinstance(symbol, ClassValue)), None)
    if cls is None:
        return
    for oid in _unknown(made, state):
        made_one = _as_one_of(machine, cls.cls, cls.dotted, state.heap[oid])
        state.heap[oid] = made_one._replace(cls=cls.cls) if made_one.proven else made_one


_MAKES = re.compile(r"^(from|load|create|build|restore)(_|$)")


def _unknown(value: Value, state: State) -> list[int]:
    return [oid for oid in value.refs if state.heap[oid].cls is None and state.heap[oid].depends == UNKNOWN]


def _as_one_of(machine: Machine, cls: object, dotted: str, obj: Obj) -> Obj:
    """Return an object of a class: a torch module, or what runs one for a library.

    An heir may have more layers, and has some where `forward` is left to it.
    """
    classes = machine.classes
    if isinstance(cls, ClassInfo):
        if not classes.is_module(cls):
            return obj
        depends = classes.dependence(cls)
        alone = not _has_heirs(machine, cls)
        told = depends.answer == YES or (alone and not _is_filled_later(machine, cls, set()))
        forward = machine.project.method(cls, "forward")
        if depends.options or not told or forward is None or is_left_open(forward):
            return obj._replace(proven=True)
        obj = obj._replace(proven=True, depends=depends.answer, detail=depends.detail)
        return obj._replace(cls=cls) if alone and depends.answer == YES else obj
    if machine.knowledge.runners.get(dotted) is not None and obj.kind == OPAQUE:
        return obj._replace(kind=INSTANCE, cls=dotted, attrs={**obj.attrs, SPREAD: NOTHING})
    return obj._replace(proven=True) if classes.is_module_name(dotted) else obj


def _has_heirs(machine: Machine, cls: ClassInfo) -> bool:
    """Tell whether a class of the project inherits from `cls`, or may: what is given is one of these then."""
    project, mine = machine.project, cls.module.path
    paths = project.mentioning(f"({cls.name}", mine, "values")
    modules = [project.load(path, mine, "values") for path in paths[:MAX_FILES]]
    bases = (base for module in modules if module is not None for c in module.classes for base in c.bases)
    return len(paths) > MAX_FILES or any((base or "").rpartition(".")[2] == cls.name for base in bases)


def _is_filled_later(machine: Machine, cls: ClassInfo, seen: set[ClassInfo]) -> bool:
    """Tell whether a class, or a part of it, begins with an empty container of modules: what it holds is not known."""
    seen.add(cls)
    for owner in machine.project.ancestry(cls)[0]:
        for method in owner.methods.values():
            for call in method.calls:
                symbol = machine.project.resolve_in(method, call.func)
                if symbol is None:
                    continue
                if symbol.dotted in CONTAINERS and not call.args:
                    return True
                part = symbol.target
                if isinstance(part, ClassInfo) and part not in seen and machine.classes.is_module(part):
                    if _is_filled_later(machine, part, seen):
                        return True
    return False


def _is_asked(function: FunctionInfo, name: str) -> bool:
    """Tell whether a function calls an argument, or something of it, or is a constructor, which keeps it for others:
    nothing else of a model is of interest here."""
    return function.name == "__init__" or any(
        isinstance(node, ast.Name) and node.id == name
        for call in function.calls
        for node in (call.func, getattr(call.func, "value", None))
    )


def classes_annotated(annotation: ast.expr) -> Iterator[ast.expr]:
    """Yield the classes that an annotation names: the parts of a union, what is optional, what stands in quotes."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            return
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        yield from classes_annotated(annotation.left)
        yield from classes_annotated(annotation.right)
    elif isinstance(annotation, ast.Subscript) and last_name(annotation.value) in ("Optional", "Union"):
        inner = annotation.slice
        for part in inner.elts if isinstance(inner, ast.Tuple) else [inner]:
            yield from classes_annotated(part)
    elif isinstance(annotation, (ast.Name, ast.Attribute)):
        yield annotation
