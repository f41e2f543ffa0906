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
from modellint.static.guards import own
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
    if any(name == "train" for method in methods for name, _ in stored(method)):
        return  # `self.teacher.train = disabled_train`
    mine = sorted(cls.methods.values(), key=lambda method: method is not forward)
    run = context.classes.parts_run(forward)
    kept: dict[str, list[ast.expr]] = defaultdict(list)
    for name, value in stored(init):
        kept[name].append(value)
    for name, values in kept.items():
        maker, is_readied = _maker(values[0])
        if name not in run or len(values) > 1 or not (is_readied or name in readied_attributes(init)):
            continue
        calls = [(m, call) for m in mine for call in m.calls if attribute_of(call.func, m.self_name or "") == name]
        if not _is_frozen(init, name) and not all(under_switch(method, call) for method, call in calls):
            continue
        depends = given.of_value(context.classes, maker, init, 0)
        likely = depends.answer == YES or (depends.hints and not _HARDLY_DEPENDS.search(ast.unparse(maker)))
        if likely and not _keeps_its_mode(maker, init, context):
            yield from ((name, call, depends) for _, call in calls[:1])


_SWITCHES = frozenset({"eval", "train", "apply"})
_HARDLY_DEPENDS = re.compile(r"clip|vit|dino|deit|beit|swin|sam|llama", re.I)
"""How networks of libraries are named that were published without batch norms, and come with dropout at zero."""


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
    return any(_FREEZES.search(ast.unparse(statement)) for loop in loops for statement in loop.body)


_FREEZES = re.compile(r"\.requires_grad(_\(| = )False")


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
    """Tell whether the part may be put back by its own eval(), by whoever has the whole, anywhere in the files around.

    Or where the whole is trained, or put into training mode, by the eval() of anything but the whole, `part.eval()`, or
    by what is done to it there: `freeze_norms(model)`, `model.apply(quiet)`.
    """
    switching = [
        (function, ast.unparse(call.func).removesuffix(".train"))
        for site in switched
        for function, call in calls_at(context, site)
    ]
    switching += [(function, event.text) for function in functions_around(event)]
    readied = (
        (function, ast.unparse(call.func).removesuffix(".eval"))
        for module in {context.module, *(function.module for function, _ in switching)}
        for function in (module.body, *module.functions)
        for call in function.calls_of("eval")
    )
    by_name = any(owner.endswith(f".{name}") and owner != f"{f.self_name}.{name}" for f, owner in readied)
    return by_name or any(_may_switch_parts(function, whole) for function, whole in switching)


def _may_switch_parts(function: FunctionInfo, whole: str) -> bool:
    """Tell whether a function calls eval() of anything but `whole`, or has something done to all that is in it."""
    if any(ast.unparse(call.func) != f"{whole}.eval" for call in function.calls_of("eval")):
        return True
    done = [node.value for node in own(function, ast.Expr) if isinstance(node.value, ast.Call)]
    given = (ast.unparse(argument) for call in done for argument in (call.func, *call.args))
    return any(text in (whole, f"{whole}.apply") for text in given)


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
