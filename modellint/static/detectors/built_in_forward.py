"""A module with parameters, or one that depends on the mode, is constructed inside forward."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modellint.catalog import ActiveRule
from modellint.static.context import FileContext, Finding
from modellint.static.dependence import YES
from modellint.static.flow.values import Site
from modellint.static.guards import conditions, own, path_to, tied_to_mode, unnegated, walk_own
from modellint.static.narrowing import attribute_of
from modellint.static.overriding import calls_plainly
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.facts import arguments_given, is_false, is_none
from modellint.static.project.names import last_name
from modellint.static.project.trees import walk

_RUNS = re.compile(r"^(forward(_\w+)?|(validation|test|predict)_step)$")
"""Methods that run at inference, from outside: those of torch, and of Lightning."""
_CACHES = frozenset({"cache", "lru_cache", "cached_property", "cached", "memoize"})
_MAX_FUNCTIONS = 24


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report constructor calls in forwards, and in the methods and functions of the file that forwards call.

    The detector's option `parametrised` lists classes with weights.
    """
    parametrised = set(rule.rule.detector_options["parametrised"])
    found: dict[Site, Finding] = {}

    def note(call: ast.Call, why: str, by: ast.Call | None = None) -> None:
        site = context.site(call)
        related = ((context.site(by), "called here"),) if by is not None else ()
        found.setdefault(site, Finding(site, {"built": ast.unparse(call.func), "why": why}, related=related))

    for cls in context.module_classes():
        for method, (kept, by) in _run_by_forward(context, cls).items():
            for call in method.calls:
                why = _built(context, method, call, parametrised)
                meant = _in_eval(method, call) or tied_to_mode(method, call) or _measures_spread(method, call)
                if why and not meant and not _kept(method, call):
                    if kept and _is_returned(method, call):
                        continue
                    note(call, why, by)
        for method, call in _run_by_lambdas(cls):
            if why := _built(context, method, call, parametrised):
                note(call, why)
    yield from found.values()


def _run_by_lambdas(cls: ClassInfo) -> Iterator[tuple[FunctionInfo, ast.Call]]:
    """Yield what lambdas call at once that they build, where a module keeps them as layers: `lambda x: Norm(d)(x)`."""
    for method in cls.methods.values():
        for node in own(method, ast.Assign):
            if isinstance(node.value, ast.Lambda) and any(map(_stores, node.targets)):
                for call in walk(node.value.body):
                    if isinstance(call, ast.Call) and isinstance(call.func, ast.Call):
                        yield method, call.func


def _run_by_forward(context: FileContext, cls: ClassInfo) -> dict[FunctionInfo, tuple[bool, ast.Call | None]]:
    """Return the forwards of a class and what they call in turn in any mode, with whether every call keeps the result
    and the first call of those that are no forwards."""
    found: dict[FunctionInfo, tuple[bool, ast.Call | None]] = {
        method: (False, None) for name, method in cls.methods.items() if _RUNS.match(name)
    }
    queue = list(found)
    for method in queue:
        for call in method.calls:
            other = _called(context, method, call)
            if other is None or len(found) > _MAX_FUNCTIONS:  # equivalent: no forward that was seen calls so many
                continue
            if not _CACHES.isdisjoint(other.decorators) or tied_to_mode(method, call):
                continue
            if other not in found:  # equivalent: but without it, a method that calls itself never ends
                queue.append(other)
            kept, first = found.get(other, (True, call))
            found[other] = kept and _kept(method, call), first
    return found


def _is_returned(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether what `call` builds is handed back, and not only used."""
    names: set[str] = set()
    inner: ast.AST = call
    for outer in reversed(path_to(method, call)[:-1]):
        if isinstance(outer, ast.Call) and outer.func is inner:
            return False  # `nn.Dropout(p)(x)`
        if isinstance(outer, ast.Assign):
            names = {target.id for target in outer.targets if isinstance(target, ast.Name)}
        inner = outer
    return not any(isinstance(c.func, ast.Name) and c.func.id in names for c in method.calls)


def _called(context: FileContext, method: FunctionInfo, call: ast.Call) -> FunctionInfo | None:
    """Return the method of the class, or the function of the file, that `call` calls."""
    func = call.func
    if isinstance(func, ast.Attribute):
        mine = isinstance(func.value, ast.Name) and func.value.id == method.self_name
        return method.cls.methods.get(func.attr) if mine and method.cls is not None else None
    symbol = context.project.resolve_in(method, func)
    target = symbol.target if symbol is not None else None
    return target if isinstance(target, FunctionInfo) and target.module is context.module else None


def _in_eval(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether `nn.Dropout(p).eval()` is what is written: it does nothing, in any mode."""
    return any(
        isinstance(node, ast.Attribute) and node.value is call and node.attr == "eval" for node in path_to(method, call)
    )


def _measures_spread(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether dropout is built for a method to see how its predictions spread: Monte Carlo dropout, on purpose."""
    return "Dropout" in (last_name(call.func) or "") and not _SPREAD.isdisjoint(method.callees)


_SPREAD = frozenset({"std", "var", "std_mean", "var_mean"})


def _built(context: FileContext, method: FunctionInfo, call: ast.Call, parametrised: set[str]) -> str:
    """Return why the object that `call` builds does not belong into a forward, or an empty text."""
    name = last_name(call.func)
    if not (name or "")[:1].isupper():  # equivalent: saves the look; what is not a class is not reported
        return ""
    symbol = context.project.resolve_in(method, call.func)
    if symbol is None or (isinstance(call.func, ast.Name) and method.assigns(call.func.id)):
        return ""  # a variable may be named like a class: `for Block in self.blocks`
    if isinstance(symbol.target, ClassInfo):
        if context.classes.is_module(symbol.target) and not _is_given_its_parts(context, method, call, symbol.target):
            if context.classes.dependence(symbol.target).answer == YES and not _readies_itself(context, symbol.target):
                return "is in training mode every time"
            weighty = _has_weights(context, symbol.target, parametrised, set())
            if weighty and not _loads_its_weights(context, symbol.target):
                return "has new, untrained weights every time"
        return ""
    if context.classes.of_external(symbol.dotted, call).answer == YES:
        return "is in training mode every time, whatever eval() says"
    learns = symbol.dotted in parametrised and not any(_leaves_weights_out(keyword) for keyword in call.keywords)
    return "has new, untrained weights every time" if learns else ""


def _is_given_its_parts(context: FileContext, method: FunctionInfo, call: ast.Call, cls: ClassInfo) -> bool:
    """Tell whether a constructor is given modules that the caller keeps, and builds its own only where it is not.

    `Wrapped(net=self.net)`, of a class with `self.net = Net() if net is None else net`.
    """
    init = context.project.method(cls, "__init__")
    if init is None:
        return False
    given = arguments_given(init, call)
    parts = {name for name, value in given.items() if _is_a_part(context, method, value)}
    layers = [made for made in init.calls if _may_make_weights(context, init, made)]
    return bool(layers) and all(
        any(_is_left_out(test, holds, parts) for test, holds in conditions(init, made)) for made in layers
    )


def _is_a_part(context: FileContext, method: FunctionInfo, value: ast.expr) -> bool:
    """Tell whether a value is an attribute in which the class of a method keeps a module that it builds."""
    attribute = attribute_of(value, method.self_name or "")
    return attribute is not None and method.cls is not None and context.classes.builds_child(method.cls, attribute)


def _may_make_weights(context: FileContext, init: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a call in a constructor makes a module or a parameter, or leads to code of the project that may."""
    if last_name(call) in _MAKES_PARAMETERS or context.classes.names_module(init, call.func):
        return True
    symbol = context.project.resolve_in(init, call.func)
    if symbol is not None and isinstance(symbol.target, FunctionInfo):
        return True
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == init.self_name


_MAKES_PARAMETERS = frozenset({"Parameter", "register_parameter"})


def _is_left_out(test: ast.expr, holds: bool, names: set[str]) -> bool:
    """Tell whether a condition says that one of the arguments `names` is not given."""
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() as asked], comparators=[other]):
            return name in names and is_none(other) and isinstance(asked, ast.Is) is holds
    asked_of, given = unnegated(test, holds)
    return isinstance(asked_of, ast.Name) and asked_of.id in names and not given


def _leaves_weights_out(keyword: ast.keyword) -> bool:
    """Tell whether an argument asks a norm for no weights of its own."""
    off = is_false(keyword.value)
    return off and keyword.arg in ("affine", "elementwise_affine")


def _has_weights(context: FileContext, cls: ClassInfo, parametrised: set[str], seen: set[ClassInfo]) -> bool:
    """Tell whether a module of the project builds a layer with weights, itself or in a part, or draws its own."""
    seen.add(cls)
    init = context.project.method(cls, "__init__")
    if init is None:
        return False
    for call in init.calls:
        symbol = context.project.resolve_in(init, call.func)
        if symbol is None:
            continue
        if isinstance(symbol.target, ClassInfo):
            if symbol.target not in seen and _has_weights(context, symbol.target, parametrised, seen):
                return True
        elif symbol.dotted in parametrised or (symbol.dotted in _PARAMETERS and _is_drawn(init, call)):
            return True
    return False


def _readies_itself(context: FileContext, cls: ClassInfo) -> bool:
    """Tell whether the constructor of a module calls `self.eval()`; a base class's does so too early for its heirs."""
    init = context.project.method(cls, "__init__")
    return init is not None and calls_plainly(init, f"{init.self_name}.eval")


def _loads_its_weights(context: FileContext, cls: ClassInfo) -> bool:
    """Tell whether building a module loads weights into it, in a constructor of its own or of its bases."""
    inits = (owner.methods.get("__init__") for owner in context.project.ancestry(cls)[0])
    return any(init is not None and "load_state_dict" in init.callees for init in inits)


_PARAMETERS = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter"})
_FREEZES = frozenset({"requires_grad", "requires_grad_"})


def _is_drawn(init: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a parameter begins with random numbers, and nothing is said of gradients where it is made.

    What is computed, or given, may be meant to stay as it is.
    """
    only = call.args[0] if len(call.args) == 1 and not call.keywords else None
    return isinstance(only, ast.Call) and last_name(only.func) in _RANDOM and _FREEZES.isdisjoint(init.words)


_RANDOM = frozenset({"rand", "randn", "rand_like", "randn_like", "normal"})


def _kept(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether what `call` builds is stored for the next time, or is given weights on the spot."""
    for node in path_to(method, call):
        if isinstance(node, ast.Assign):
            if any(_stores(inner) for target in node.targets for inner in walk(target)):
                return True
            names = {target.id for target in node.targets if isinstance(target, ast.Name)}
            if any(_hands_on(inner, names) for inner in walk_own(method)):
                return True
        elif isinstance(node, ast.NamedExpr):
            if any(_hands_on(inner, {node.target.id}) for inner in walk_own(method)):
                return True
        elif isinstance(node, ast.Call) and _grows_attribute(node):
            return True
    return any(last_name(c) in _REGISTERS for c in method.calls)


_REGISTERS = frozenset({"setattr", "add_module", "register_module"})
_FILLS = frozenset({"load_state_dict", "copy_", "constant_", "fill_", "zero_", "functional_call"})


def _grows_attribute(call: ast.Call) -> bool:
    """Tell whether `call` adds something to what an attribute holds: `self.layers.append(...)`."""
    func = call.func
    return isinstance(func, ast.Attribute) and func.attr in _GROWS and isinstance(func.value, ast.Attribute)


_GROWS = frozenset({"append", "extend", "insert", "update", "setdefault"})


def _stores(node: ast.AST) -> bool:
    """Tell whether a target keeps what it is given: an attribute, or a place in a cache."""
    return isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store)


def _hands_on(node: ast.AST, names: set[str]) -> bool:
    """Tell whether `node` stores one of the variables `names`, or gives the module in it weights."""
    if isinstance(node, ast.Assign):
        held = isinstance(node.value, ast.Name) and node.value.id in names
        return any(_stores(t) and (held or _root(t) in names) for t in node.targets)
    if isinstance(node, ast.Call) and last_name(node) in _FILLS:
        return any(_root(part) in names for part in (node.func, *node.args))
    return False


def _root(node: ast.expr) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
