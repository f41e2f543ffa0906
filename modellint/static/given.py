"""What a class is given when it is built: layers out of its own sight, looked at where they come from."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING

from modellint.static.attributes import calls_through_self
from modellint.static.dependence import NO, UNKNOWN, Dependence
from modellint.static.guards import assignments, own, put_into, returned
from modellint.static.narrowing import attribute_of
from modellint.static.options import (
    Asked,
    asked_by,
    by_options,
    hung,
    joined,
    parameters_of,
    stands_out,
    where_asked_for,
)
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.callers import heirs_nearby
from modellint.static.project.facts import argument_given, parameters
from modellint.static.project.names import dotted_name, last_name
from modellint.static.project.trees import walk

if TYPE_CHECKING:
    from modellint.static.classes import Classes

CONTAINERS = frozenset({"torch.nn.ModuleList", "torch.nn.ModuleDict", "torch.nn.Sequential"})
STACKS = frozenset({"torch.nn.TransformerEncoder", "torch.nn.TransformerDecoder"})
"""Classes that repeat a layer and have no dropout of their own (torch/nn/modules/transformer.py, 2.13)."""
_PLAIN_CONTAINERS = CONTAINERS | {"typing.Generic"}
_DEEPEST = 6


def of_call(classes: Classes, cls: ClassInfo, call: ast.Call, scope: FunctionInfo, depth: int = 0) -> Dependence:
    """Tell whether what `call` builds depends on the mode, where that hangs on the arguments that `cls` keeps."""
    built = classes.dependence(cls)
    init = classes.project.method(cls, "__init__")
    if init is not None:
        return as_called(classes, built, init, call, scope, depth)
    if built.answer == UNKNOWN and call.args and _PLAIN_CONTAINERS.issuperset(classes.project.ancestry(cls)[1]):
        return joined(of_value(classes, part, scope, depth) for part in call.args)  # `Blocks([Block(n) for n in ns])`
    return built


def of_base(classes: Classes, built: Dependence, init: FunctionInfo, heir: FunctionInfo | None) -> Dependence:
    """Tell it of what the constructor `init` of a base builds, which `heir`, the constructor of the class, calls.

    Options that `heir` alone has decide there already: it calls a method of the base where one asks for that.
    """
    if heir is None or heir.cls is None:
        return Dependence(built.answer, built.detail, hints=built.hints)
    taken = {parameter.arg for parameter, _ in parameters(init)}
    own = {parameter.arg for parameter, _ in parameters(heir)} - taken
    if built.options and built.hangs_on | parameters_of(built.options) <= own:
        return built
    calls = heir.calls_of("__init__")
    above = [base for base in classes.project.ancestry(heir.cls)[0][1:] if "__init__" in base.methods]
    if len(calls) == 1 and ast.unparse(calls[0].func).startswith("super(") and above[:1] == [init.cls]:
        return as_called(classes, built, init, calls[0], heir, 0)
    return Dependence(built.answer, built.detail, hints=built.hints)


def by_method(
    classes: Classes, family: Sequence[ClassInfo], method: FunctionInfo, built: Dependence, depth: int = 0
) -> Dependence:
    """Return `built`, what `method` builds, as the methods of its class ask for it: `self.build(width, dropout)`.

    What nobody in the class calls is asked for by whoever does; what hangs on that alone is open. Options that the
    method reads from attributes are those of the constructor, and stay.
    """
    if method.name == "__init__" or built.answer == NO:
        return built
    own = {parameter.arg for parameter, _ in parameters(method)}
    kept = frozenset(option for option in built.options if not parameters_of([option]) <= own)
    calls = [(caller, call) for caller, call in calls_through_self(family, method.name) if caller is not method]
    inner = bool(calls) and (_is_private(method) or all(caller.name == "__init__" for caller, _ in calls))
    hangs = len(kept) < len(built.options) or bool(built.hangs_on & own)
    inner = inner and _is_only_called(classes, family, method, len(calls))
    if not hangs and not (inner and built.is_certain):
        return built
    mine = built._replace(options=built.options - kept, hangs_on=built.hangs_on & own)
    answers = [hung(option) for option in sorted(kept, key=repr)]
    if not calls or method.is_static or depth > _DEEPEST:
        return joined([Dependence(mine.answer, mine.detail, hints=mine.hints), *answers])
    for caller, call in calls:
        asked = as_called(classes, mine, method, call, caller, depth)
        if inner and asked.is_certain:
            asked = where_asked_for(asked, caller, call)
        answers.append(by_method(classes, family, caller, asked, depth + 1))
    return joined(answers)


def _is_private(method: FunctionInfo) -> bool:
    return method.name.startswith("_") and not method.name.startswith("__")


def _is_only_called(classes: Classes, family: Sequence[ClassInfo], method: FunctionInfo, calls: int) -> bool:
    """Tell whether a class, its bases and its heirs speak of a method in so many calls of their own, and no more."""
    methods = (one for owner in (*family, *heirs_nearby(classes.project, family[0])) for one in owner.methods.values())
    return sum(_mentioned(one)[method.name] for one in dict.fromkeys(methods)) == calls


def _mentioned(method: FunctionInfo) -> Counter[str]:
    """Return how often each attribute, and each text, stands in a method."""
    known: Counter[str] | None = method.memo.get(_mentioned)
    if known is None:
        nodes = list(walk(method.node)) if method.node is not None else []
        attributes = (node.attr for node in nodes if isinstance(node, ast.Attribute))
        texts = (n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))
        known = method.memo[_mentioned] = Counter((*attributes, *texts))
    return known


def as_called(
    classes: Classes, built: Dependence, maker: FunctionInfo, call: ast.Call, scope: FunctionInfo, depth: int
) -> Dependence:
    """Return `built`, what a constructor or a factory `maker` builds, as `call` in `scope` asks for it."""
    if not (built.hangs_on or built.options) or depth > _DEEPEST:
        return built
    asked = asked_by(call, maker, scope)
    defaults = {parameter.arg: default for parameter, default in parameters(maker)}
    answers = [] if built.hangs_on else [Dependence(UNKNOWN, hints=built.hints)]
    answers += by_options(built, asked.of)
    for name in sorted(built.hangs_on - parameters_of(built.options)):
        if _is_left_unused(name, maker, asked):
            continue
        node, where = asked.given.get(name), scope
        if node is None and not (asked.starred or asked.spread):
            node, where = defaults.get(name), maker
        built_so = _of_class_built(classes, node, where, name, maker, depth + 1) if node is not None else None
        if built_so is not None:
            answers.append(as_called(classes, built_so, maker, call, scope, depth + 1))
        else:
            answers.append(of_value(classes, node, where, depth + 1) if node is not None else Dependence(UNKNOWN))
    return joined(answers)


def _is_left_unused(name: str, maker: FunctionInfo, asked: Asked) -> bool:
    """Tell whether a parameter is used only where an option asks for it that a call leaves off.

    `if mode == "conv": self.conv = Sequential(Conv2d(6, 32, 1), norm(32))`
    """
    uses = _uses_of(name, maker)
    mine = {id(node) for node in own(maker, ast.Name)}
    return bool(uses) and all(id(use) in mine and stands_out(use, maker, asked) for use in uses)


def _uses_of(name: str, function: FunctionInfo) -> list[ast.Name]:
    """Return where a function, with those inside of it, reads a variable."""
    names = (node for node in walk(function.node or ast.Pass()) if isinstance(node, ast.Name) and node.id == name)
    return [node for node in names if isinstance(node.ctx, ast.Load)]


def of_picker(classes: Classes, function: FunctionInfo) -> Dependence:
    """Tell it of the classes of layers that a function gives back for its caller to build: `norm_layer("batch")`."""
    return joined(
        where_asked_for(of_value(classes, value, function, 0), function, value)
        for value in returned(function)
        if _is_maker(classes, value, function)
    )


def _is_maker(classes: Classes, node: ast.expr, scope: FunctionInfo) -> bool:
    """Tell whether an expression is a class of modules, or one that `functools.partial` prepares."""
    if isinstance(node, ast.Call) and last_name(node) == "partial" and node.args:
        node = node.args[0]
    return isinstance(node, (ast.Name, ast.Attribute)) and classes.names_module(scope, node)


def _of_class_built(
    classes: Classes, node: ast.expr, scope: FunctionInfo, name: str, init: FunctionInfo, depth: int
) -> Dependence | None:
    """Tell it of a class with options that `node` is, as the constructor `init` builds it, which is given it as `name`.

    `block(width, norm=norm)`, there or in a method that is handed the class: `self.make_layer(block, width, norm)`.
    None of anything else, and where nothing in sight builds it.
    """
    symbol = classes.project.resolve_in(scope, node)
    cls = symbol.target if symbol is not None else None
    maker = classes.project.method(cls, "__init__") if isinstance(cls, ClassInfo) else None
    if init.cls is None or not isinstance(cls, ClassInfo) or maker is None or not classes.dependence(cls).options:
        return None
    family = classes.project.ancestry(init.cls)[0]
    found: list[Dependence] = []
    handed = list(_handed_to_methods(name, init, family))
    for method, parameter in dict.fromkeys([(init, name), *handed]):
        builds = [call for call in method.calls if isinstance(call.func, ast.Name) and call.func.id == parameter]
        if len(_uses_of(parameter, method)) != len(builds) + (len(handed) if method is init else 0):
            return None  # somebody else may build it
        for call in builds:
            asked = as_called(classes, classes.dependence(cls), maker, call, method, depth)
            found.append(by_method(classes, family, method, asked, depth))
    return joined(found) if found else None


def _handed_to_methods(
    name: str, init: FunctionInfo, family: Sequence[ClassInfo]
) -> Iterator[tuple[FunctionInfo, str]]:
    """Yield the methods of an object that a constructor hands its parameter `name`, with what it is called there."""
    for call in init.calls:
        called = attribute_of(call.func, init.self_name or "")
        method = next((owner.methods[called] for owner in family if called in owner.methods), None) if called else None
        given = asked_by(call, method, init).given if method is not None else {}
        for parameter, value in given.items():
            if method is not None and parameter is not None and isinstance(value, ast.Name) and value.id == name:
                yield method, parameter


def of_value(classes: Classes, node: ast.expr, scope: FunctionInfo, depth: int) -> Dependence:
    """Tell whether a layer, or what makes one, depends on the mode."""
    if depth > _DEEPEST:
        return Dependence(UNKNOWN)
    match node:
        case ast.Constant():
            return Dependence(NO)
        case ast.IfExp():
            parts = [node.body, node.orelse]
        case ast.BoolOp():
            parts = node.values
        case ast.List() | ast.Tuple():
            parts = node.elts
        case ast.ListComp(elt=part) | ast.GeneratorExp(elt=part) | ast.Starred(value=part):
            parts = [part]
        case ast.Subscript(value=ast.Dict(values=values)):
            parts = values
        case ast.Attribute(value=ast.Name(id=owner)) if owner == scope.self_name and scope.cls is not None:
            return of_attribute(classes, node.attr, scope, depth)
        case ast.Name() | ast.Attribute():
            return _of_name(classes, node, scope, depth)
        case ast.Call():
            return _of_made(classes, node, scope, depth)
        case _:
            return Dependence(UNKNOWN)
    return joined(of_value(classes, part, scope, depth + 1) for part in parts)


def arguments_in(call: ast.Call, arguments: Set[str]) -> frozenset[str]:
    """Return the arguments, of what has the `arguments`, that a container is filled with: `Sequential(*layers)`."""
    parts = (part.value if isinstance(part, ast.Starred) else part for part in call.args)
    return frozenset(part.id for part in parts if isinstance(part, ast.Name) and part.id in arguments)


def of_attribute(classes: Classes, attribute: str, scope: FunctionInfo, depth: int = 0) -> Dependence:
    """Look at everything that the methods of the class assign to an attribute."""
    answers = [
        of_value(classes, value, method, depth + 1)
        for owner in (classes.project.ancestry(scope.cls)[0] if scope.cls is not None else ())
        for method in owner.methods.values()
        for value in _values_kept(method).get(attribute, ())
    ]
    return joined(answers) if answers else Dependence(UNKNOWN)


def _values_kept(method: FunctionInfo) -> dict[str, list[ast.expr]]:
    """Return what a method assigns to each attribute of `self`."""
    known: dict[str, list[ast.expr]] | None = method.memo.get(_values_kept)
    if known is None:
        known = method.memo[_values_kept] = {}
        for node in own(method, ast.Assign):
            for name in dict.fromkeys(attribute_of(target, method.self_name or "") for target in node.targets):
                if name is not None:
                    known.setdefault(name, []).append(node.value)
    return known


def _of_name(classes: Classes, node: ast.expr, scope: FunctionInfo, depth: int) -> Dependence:
    if isinstance(node, ast.Name):
        if any(parameter.arg == node.id for parameter, _ in parameters(scope)):
            hangs_on = frozenset({node.id}) if scope.name == "__init__" else frozenset[str]()
            return Dependence(UNKNOWN, "", hangs_on)
        values = [value for name, value in assignments(scope) if name == node.id]
        if values:
            values += put_into(scope, node.id)
            return joined(of_value(classes, value, scope, depth + 1) for value in values)
    symbol = classes.project.resolve_in(scope, node)
    if symbol is None:
        return Dependence(UNKNOWN)
    if isinstance(symbol.target, ClassInfo):
        return classes.dependence(symbol.target)
    if isinstance(symbol.target, FunctionInfo):
        made = classes.of_function(symbol.target)
        return Dependence(made.answer, made.detail, hints=made.hints)
    return _of_outside(classes, symbol.dotted, None)


def _of_made(classes: Classes, call: ast.Call, scope: FunctionInfo, depth: int) -> Dependence:
    text = dotted_name(call.func)
    symbol = classes.project.resolve_in(scope, text) if text else None
    if symbol is None:
        return Dependence(UNKNOWN)
    if last_name(call) == "partial" and call.args:
        return of_value(classes, call.args[0], scope, depth + 1)
    repeated = layer_repeated(symbol.dotted, call)
    if repeated is not None:
        return of_value(classes, repeated, scope, depth + 1)
    if symbol.dotted in CONTAINERS:
        return joined(of_value(classes, part, scope, depth + 1) for part in call.args)
    if isinstance(symbol.target, ClassInfo):
        return of_call(classes, symbol.target, call, scope, depth + 1)
    if isinstance(symbol.target, FunctionInfo):
        return as_called(classes, classes.of_function(symbol.target), symbol.target, call, scope, depth + 1)
    wrapper = classes.knowledge.wrappers.get(symbol.dotted)
    if wrapper is not None and wrapper.effect.mode == "same" and call.args:  # `torch.compile(net)`
        return of_value(classes, call.args[0], scope, depth + 1)
    return _of_outside(classes, symbol.dotted, call)


def layer_repeated(dotted: str, call: ast.Call | None) -> ast.expr | None:
    """Return the layer that `call` builds a stack of, whose mode alone matters: `TransformerEncoder(layer, 6)`."""
    return argument_given(call, ("encoder_layer", "decoder_layer"), 0) if dotted in STACKS else None


def _of_outside(classes: Classes, dotted: str, call: ast.Call | None) -> Dependence:
    """Tell whether a name from outside is, or makes, something that depends on the mode."""
    known = dotted.startswith("torch.") or classes.knowledge.loaders.get(dotted) is not None
    if dotted.rsplit(".", 1)[-1][:1].islower() and not known:
        return Dependence(UNKNOWN)
    return classes.of_external(dotted, call)
