"""Parts that the constructor of a module put into evaluation mode, and train() of the whole wakes up again."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

from modellint.diagnostic import Confidence
from modellint.static import given
from modellint.static.attributes import readied_attributes, stored
from modellint.static.context import FileContext, Finding
from modellint.static.dependence import YES, Dependence
from modellint.static.family import under_switch
from modellint.static.flow.events import Event
from modellint.static.flow.frames import site_of
from modellint.static.flow.values import Site
from modellint.static.freezing import FREEZES
from modellint.static.guards import conditions, own
from modellint.static.naming import MOVES
from modellint.static.narrowing import MODULE, attribute_of
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.purpose import functions_around
from modellint.static.sites import calls_at, seen_by_callers, seen_in
from modellint.static.snapshots import in_train, put_into_training


def woken(context: FileContext) -> Iterator[Finding]:
    """Report where modules of this file that are trained run parts, without a gradient, that train() woke up."""
    for cls in context.module.classes:
        for name, call, depends in _parts_at_rest(cls, context):
            for event in _trained(cls, context):
                switched = sorted({fact.site for s in event.snapshots for fact in s.modes if fact.site is not None})
                if not switched:  # equivalent: what a library itself puts into training mode has no place in sight
                    continue
                if not _is_put_back(name, event, switched, context):
                    yield _finding(cls, call, depends, switched[0], event, context)
                    break


def _parts_at_rest(cls: ClassInfo, context: FileContext) -> Iterator[tuple[str, ast.Call, Dependence]]:
    """Yield parts that depend on the mode and are put into evaluation mode by the constructor alone, with the call.

    None of a class that may switch modes itself, by a method of its own or of a base out of sight.
    """
    family, outside = context.project.ancestry(cls)
    init, forward = cls.methods.get("__init__"), context.project.method(cls, "forward")
    if init is None or forward is None or not MODULE.issuperset(outside):
        return
    methods = [method for owner in family for method in owner.methods.values()]
    if any(method is not init and not _SWITCHES.isdisjoint(method.callees) for method in methods):
        return
    kept: dict[str, list[ast.expr]] = defaultdict(list)
    for name, value in stored(init):
        kept[name].append(value)
    for name, values in kept.items():
        maker, is_readied = _maker(values[0])
        if len(values) > 1 or not (is_readied or name in readied_attributes(init)):
            continue
        call = _always_run(name, forward)
        if call is None or not all(_is_only_called(name, method) for method in methods):
            continue
        if not _is_frozen(init, name) and not under_switch(forward, call):
            continue
        depends = given.of_value(context.classes, maker, init, 0)
        likely = depends.answer == YES or (depends.hints and _DEPENDS.search(ast.unparse(maker)))
        if likely and not _keeps_its_mode(maker, init, context):
            yield name, call, depends


_SWITCHES = frozenset({"eval", "train", "apply"})
_DEPENDS = re.compile(
    r"re[sg]ne|efficientnet|densenet|mobilenet|inception|xception|_bn\b|bert|bart|electra|\bt5|gpt2", re.I
)
"""How networks of libraries are named that come with batch norms, or with a dropout that is not zero."""


def _always_run(name: str, forward: FunctionInfo) -> ast.Call | None:
    """Return the call by which a forward runs a part whatever the mode is, under no condition."""
    calls = (call for call in forward.calls if attribute_of(call.func, forward.self_name or "") == name)
    return next((call for call in calls if not [*conditions(forward, call)]), None)


def _is_only_called(name: str, method: FunctionInfo) -> bool:
    """Tell whether a method of a class does nothing with a part but run it, the constructor but make and ready it."""
    nodes = [n for n in own(method, ast.Attribute) if n.attr == name]
    if method.name != "__init__":
        return all(any(call.func is node for call in method.calls) for node in nodes)
    readied = {id(n.value) for n in own(method, ast.Attribute) if n.attr in ("eval", "requires_grad_", "parameters")}
    return all(isinstance(node.ctx, ast.Store) or id(node) in readied for node in nodes)


def _maker(value: ast.expr) -> tuple[ast.expr, bool]:
    """Return what makes a module that is moved and readied in the same expression, and whether it is by eval()."""
    readied = False
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _HANDS_BACK:
        readied = readied or value.func.attr == "eval"
        value = value.func.value
    return value, readied


_HANDS_BACK = MOVES | {"eval", "requires_grad_"}


def _is_frozen(init: FunctionInfo, name: str) -> bool:
    """Tell whether a constructor takes the gradients from the parameters of a part, all at once or one by one."""
    part = f"{init.self_name}.{name}"
    if any(ast.unparse(call.func).startswith(f"{part}.") for call in init.calls_of("requires_grad_")):
        return True
    loops = [loop for loop in own(init, ast.For) if ast.unparse(loop.iter) == f"{part}.parameters()"]
    return any(FREEZES.search(ast.unparse(statement)) for loop in loops for statement in loop.body)


def _keeps_its_mode(maker: ast.expr, init: FunctionInfo, context: FileContext) -> bool:
    """Tell whether a part is of a class of the project with a train() of its own, which may leave it as it is."""
    symbol = context.project.resolve_in(init, maker.func) if isinstance(maker, ast.Call) else None
    target = symbol.target if symbol is not None else None
    return isinstance(target, ClassInfo) and context.project.method(target, "train") is not None


def _trained(cls: ClassInfo, context: FileContext) -> Iterator[Event]:
    """Yield the training forwards of `cls` for which somebody in sight called train() of the whole."""
    others = seen_by_callers(context, [cls.methods["__init__"]], checked=True)
    for event in chain(seen_in(context), *others):
        if event.training and all(s.obj.cls is cls and in_train(s) and put_into_training(s) for s in event.snapshots):
            yield event


def _is_put_back(name: str, event: Event, switched: Sequence[Site], context: FileContext) -> bool:
    """Tell whether the files in which a whole is trained may put its part back.

    They speak of the part, or go through the parts of modules, or give the whole away: `freeze_norms(model)`.
    """
    switching = [
        (function, ast.unparse(call.func).removesuffix(".train"))
        for site in switched
        for function, call in calls_at(context, site)
    ]
    switching += [(function, event.text) for function in functions_around(event)]
    modules = {context.module, *(function.module for function, _ in switching)}
    for function in (scope for module in modules for scope in (module.body, *module.functions)):
        attributes = (node for node in own(function, ast.Attribute) if node.attr == name)
        speaks = any(attribute_of(node, function.self_name or "") is None for node in attributes)
        if speaks or not _THROUGH_PARTS.isdisjoint(function.callees):
            return True
    return any(_gives_away(function, whole) for function, whole in switching)


_THROUGH_PARTS = frozenset({"children", "named_children", "modules", "named_modules"})


def _gives_away(function: FunctionInfo, whole: str) -> bool:
    """Tell whether a function calls eval() of anything but `whole`, or hands that to another function."""
    if any(ast.unparse(call.func) != f"{whole}.eval" for call in function.calls_of("eval")):
        return True
    applied = any(ast.unparse(call.func) == f"{whole}.apply" for call in function.calls_of("apply"))
    return applied or any(ast.unparse(argument) == whole for call in function.calls for argument in call.args)


def _finding(
    cls: ClassInfo, call: ast.Call, depends: Dependence, train: Site, event: Event, context: FileContext
) -> Finding:
    site = site_of(context.module, call)
    active = "dropout and batch statistics would be"
    if depends.detail:  # equivalent: said in the message
        active = f"{depends.detail} is"
    line = train.line_seen_from(site.path)
    words = {
        "model": ast.unparse(call.func),
        "reason": f"train() on line {line} puts all parts of {cls.name} there, this one too, and nothing calls eval()",
        "active": f"{active} still active",
    }
    related = ((train, "put into training mode here, with the whole"), (event.site, "the forward of the whole"))
    return Finding(site, words, Confidence.LIKELY, related=related)
