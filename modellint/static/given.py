"""What a class is given when it is built: layers out of its own sight, looked at where they come from."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from modellint.static.attributes import stored
from modellint.static.dependence import NO, UNKNOWN, YES, Dependence, Option
from modellint.static.guards import assignments, conditions, own, put_into, returned, unnegated
from modellint.static.narrowing import attribute_of
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


def joined(answers: Iterable[Dependence]) -> Dependence:
    """Return what holds of something with several parts: one that depends on the mode is enough."""
    result = Dependence(NO)
    for answer in answers:
        if answer.is_certain:
            return answer
        if answer.answer != NO:
            told = next((one for one in (result, answer) if one.answer == YES), Dependence(UNKNOWN))
            open_too = result.answer != NO and not result.hangs_on
            hangs_on = frozenset[str]() if open_too or not answer.hangs_on else result.hangs_on | answer.hangs_on
            options, hints = result.options | answer.options, result.hints or answer.hints
            result = Dependence(told.answer, told.detail, hangs_on, options, hints)
    return result._replace(options=_one_each(result.options)) if len(result.options) > 1 else result


def _one_each(options: frozenset[Option]) -> frozenset[Option]:
    """Return one layer for each thing that a constructor may be told: a network has many dropouts of one chance."""
    ordered = sorted(options, key=repr, reverse=True)
    return frozenset({(option.parameter, option.default, option.wanted): option for option in ordered}.values())


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
    calls = [
        (caller, call)
        for owner in family
        for caller in owner.methods.values()
        if caller is not method
        for call in caller.calls_of(method.name)
        if attribute_of(call.func, caller.self_name or "") == method.name
    ]
    inner = _is_private(method) or (bool(calls) and all(caller.name == "__init__" for caller, _ in calls))
    hangs = len(kept) < len(built.options) or bool(built.hangs_on & own)
    inner = inner and _is_only_called(classes, family, method, len(calls))
    if not hangs and not (inner and built.is_certain and calls):
        return built
    mine = built._replace(options=built.options - kept, hangs_on=built.hangs_on & own)
    answers = [_hung(option) for option in sorted(kept, key=repr)]
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
    asked = _asked_by(call, maker, scope)
    defaults = {parameter.arg: default for parameter, default in parameters(maker)}
    answers = [] if built.hangs_on else [Dependence(UNKNOWN, hints=built.hints)]
    answers += _by_options(built, asked.of)
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


def is_left_out(node: ast.expr, maker: FunctionInfo, call: ast.Call, scope: FunctionInfo) -> bool:
    """Tell whether `node`, in a constructor or a factory, needs an option for which `call` in `scope` does not ask."""
    hanging = where_asked_for(Dependence(YES), maker, node)
    asked = _asked_by(call, maker, scope)
    return bool(hanging.options) and all(asked.of(option).answer == NO for option in hanging.options)


def _stands_out(node: ast.expr, maker: FunctionInfo, asked: _Asked) -> bool:
    hanging = where_asked_for(Dependence(YES), maker, node)
    if hanging.answer == NO:
        return True
    return bool(hanging.options) and all(asked.of(option).answer == NO for option in hanging.options)


def _is_left_unused(name: str, maker: FunctionInfo, asked: _Asked) -> bool:
    """Tell whether a parameter is used only where an option asks for it that a call leaves off.

    `if mode == "conv": self.conv = Sequential(Conv2d(6, 32, 1), norm(32))`
    """
    uses = _uses_of(name, maker)
    mine = {id(node) for node in own(maker, ast.Name)}
    return bool(uses) and all(id(use) in mine and _stands_out(use, maker, asked) for use in uses)


def _uses_of(name: str, function: FunctionInfo) -> list[ast.Name]:
    """Return where a function, with those inside of it, reads a variable."""
    names = (node for node in walk(function.node or ast.Pass()) if isinstance(node, ast.Name) and node.id == name)
    return [node for node in names if isinstance(node.ctx, ast.Load)]


class Step(NamedTuple):
    """A `call` of `callee`, with which `caller` led to what is running."""

    callee: FunctionInfo
    call: ast.Call
    caller: FunctionInfo


def as_known(built: Dependence, constants: Callable[[str], Set[object] | None], steps: Iterable[Step]) -> Dependence:
    """Return `built`, what a call in a function builds, where the parameters of that function are known.

    Args:
        built: What the text of the function tells.
        constants: Gives the only constants that a parameter can have been given; None where it can be anything.
        steps: The calls that led to the function, the last one first.
    """
    if not built.options:
        return built
    led = list(steps)
    open_too = not built.hangs_on or bool(built.hangs_on - parameters_of(built.options))
    answers = [Dependence(UNKNOWN, hints=built.hints)] if open_too else []

    def told(option: Option) -> Dependence:
        known = constants(option.parameter)
        return _handed_on(option, led) if known is None else _as_given(option, known)

    return joined([*answers, *_by_options(built, told)])


def _by_options(built: Dependence, told: Callable[[Option], Dependence]) -> Iterator[Dependence]:
    """Yield what holds of the layers that hang on options, each of which is `told` by itself."""
    for option in sorted(built.options, key=repr):
        yield reduce(both, map(told, option.needs), told(option))


def _handed_on(option: Option, steps: Sequence[Step]) -> Dependence:
    """Tell whether the layer of an option is there that one function handed on to the next: `Net(args.dropout)`.

    Only what the option was begun with is an answer: a constant, an option of the command line.
    """
    unknown = Dependence(UNKNOWN, hints=option.wanted is None and option.default == YES)
    name: str | None = option.parameter
    for step in steps:
        given = _given_for(name, step)
        if given is None:
            break
        node, scope = _source(given, step.caller)
        known = node if isinstance(node, ast.Constant) else _flag(node, scope)
        if known is not None:
            return Dependence(YES, option.layer) if _is_on(known.value, option.wanted) else unknown
        name = _parameter(node, scope) if scope is step.caller else None
    return unknown


def _given_for(name: str | None, step: Step) -> ast.expr | None:
    """Return what a call gives for a parameter of what it calls; None where it gives nothing, or several at once."""
    call, callee = step.call, step.callee
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return None
    placed = [parameter.arg for parameter, _ in parameters(callee)]
    placed = placed[0 if callee.cls is None or callee.is_static else 1 :]
    given: dict[str | None, ast.expr] = {keyword.arg: keyword.value for keyword in call.keywords}
    given |= dict(zip(placed, call.args, strict=False))
    return given.get(name)


def _as_given(option: Option, constants: Set[object]) -> Dependence:
    """Tell whether the layer of an option is there, whatever else that needs, where only `constants` can be given."""
    answers = {_is_on(value, option.wanted) for value in constants}
    if len(answers) == 1:
        return Dependence(YES, option.layer) if answers == {True} else Dependence(NO)
    return Dependence(UNKNOWN)


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


def parameters_of(options: Iterable[Option]) -> frozenset[str]:
    """Return the parameters that some options hang on."""
    return frozenset(one.parameter for option in options for one in (option, *option.needs))


class _Asked(NamedTuple):
    """What a call in `scope` gives by name or by place, beside what it spreads with one star, or with two."""

    given: dict[str | None, ast.expr]
    starred: bool
    spread: list[ast.expr]
    scope: FunctionInfo

    def of(self, option: Option) -> Dependence:
        """Tell whether the layer is there that hangs on an option, whatever else that needs."""
        alone = option._replace(needs=())
        node = self.given.get(option.parameter)
        if node is not None:
            return of_option(node, self.scope, option.layer, option.wanted)
        if not self.starred and len(self.spread) == 1 and _is_own_spread(self.spread[0], self.scope):
            return _hung(alone)
        if (self.starred or self.spread) and option.default == NO:
            return Dependence(UNKNOWN, hints=True)
        return Dependence(option.default, option.layer)


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
        given = _asked_by(call, method, init).given if method is not None else {}
        for parameter, value in given.items():
            if method is not None and parameter is not None and isinstance(value, ast.Name) and value.id == name:
                yield method, parameter


def _asked_by(call: ast.Call, maker: FunctionInfo, scope: FunctionInfo) -> _Asked:
    """Return what `call` in `scope` gives a constructor or a factory `maker`."""
    starred = any(isinstance(a, ast.Starred) for a in call.args)
    placed = [parameter.arg for parameter, _ in parameters(maker)][0 if maker.cls is None else 1 :]
    given: dict[str | None, ast.expr] = {keyword.arg: keyword.value for keyword in call.keywords}
    given |= {} if starred else dict(zip(placed, call.args, strict=False))
    return _Asked(given, starred, [k.value for k in call.keywords if k.arg is None], scope)


def both(one: Dependence, other: Dependence) -> Dependence:
    """Return what holds of a layer that is there where both of two answers say so."""
    if NO in (one.answer, other.answer):
        return Dependence(NO)
    if one.is_certain or other.is_certain:
        return other if one.is_certain else one
    if not one.options or not other.options:
        return Dependence(UNKNOWN, hints=one.hints or other.hints)
    first, *others = sorted(one.options | other.options, key=repr)
    return _hung(first._replace(needs=(*first.needs, *others)))


def _is_own_spread(node: ast.expr, scope: FunctionInfo) -> bool:
    """Tell whether `node` is the `**kwargs` of a constructor: what it does not name its callers may name."""
    taken = scope.node.args.kwarg if scope.node is not None and scope.name == "__init__" else None
    return taken is not None and isinstance(node, ast.Name) and node.id == taken.arg


def _hung(option: Option) -> Dependence:
    """Return what is known where only `option` decides, and what it needs."""
    every = (option, *option.needs)
    answer = YES if all(one.default == YES for one in every) else UNKNOWN
    return Dependence(answer, option.layer, frozenset(one.parameter for one in every), frozenset({option}))


def of_option(node: ast.expr, scope: FunctionInfo, layer: str, wanted: str | int | float | None = None) -> Dependence:
    """Tell whether there is a `layer`, which depends on the mode, where what builds it in `scope` is given `node`.

    It is there where `node` is `wanted`, or anything but zero, None and False where `wanted` is None.
    """
    node, scope = _source(node, scope)
    if isinstance(node, ast.Constant):
        return Dependence(YES, layer) if _is_on(node.value, wanted) else Dependence(NO)
    name = _parameter(node, scope)
    default = next((d and _folded(d) for parameter, d in parameters(scope) if parameter.arg == name), None)
    is_off = isinstance(default, ast.Constant) and not _is_on(default.value, wanted)
    if name is not None:
        return _hung(Option(name, layer, NO if is_off else YES, wanted))
    flag = _flag(node, scope)
    is_off = is_off or (flag is not None and not _is_on(flag.value, wanted))
    return Dependence(UNKNOWN) if is_off else Dependence(YES, layer)


_ARGUMENTS = re.compile(r"^_?(parsed_|cli_|cmd_)?(args?|arguments|opts?|options|flags|namespace|ns)$", re.I)


def _flag(node: ast.expr, scope: FunctionInfo) -> ast.Constant | None:
    """Return what an option of the command line is unless somebody gives it: `args.dropout`, where the file has it."""
    if not isinstance(node, ast.Attribute) or not _ARGUMENTS.match(last_name(node.value) or ""):
        return None
    return _flags(scope.module.body).get(node.attr)


def _flags(body: FunctionInfo) -> dict[str, ast.Constant]:
    """Return the options of the command line that a file declares, with what each is unless somebody gives it.

    As `argparse` names them: `--drop-rate` is `drop_rate`, and what has no default is None. What must be given, and
    what is said more than once, is left out.
    """
    known: dict[str, ast.Constant] | None = body.memo.get(_flags)
    if known is not None:
        return known
    known = body.memo[_flags] = {}
    scopes = (body, *body.module.functions)
    again = {keyword.arg for scope in scopes for call in scope.calls_of("set_defaults") for keyword in call.keywords}
    for call in (call for scope in scopes for call in scope.calls_of("add_argument")):
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        names = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        names = [name.lstrip("-").replace("-", "_") for name in names if name.startswith("--")]
        match given.get("dest"):
            case ast.Constant(str() as dest):
                names = [dest]
        action, required = given.get("action"), given.get("required")
        stands = _UNASKED.get(str(action.value)) if isinstance(action, ast.Constant) else None
        default = given.get("default", ast.Constant(stands))
        needed = required is not None and not (isinstance(required, ast.Constant) and not required.value)
        for name in names[:1]:
            if isinstance(default, ast.Constant) and not needed and not again & {name}:
                known[name] = _as_number(default)
                again.add(name)
            else:
                known.pop(name, None)
    return known


def _as_number(node: ast.Constant) -> ast.Constant:
    """Return a default, the number in a text as the number that `type=float` makes of it."""
    try:
        return ast.Constant(float(node.value)) if isinstance(node.value, str) else node
    except ValueError:
        return node


_UNASKED = {"store_true": False, "store_false": True}
"""What the actions of `argparse` leave an option at that nobody gives."""

SEVERAL = ">1"
"""What is wanted of a number of layers: two or more of them."""
NOT_OFF = "!=-1"
"""What is wanted of an option that -1 stands for nothing of: `if dropout != -1:`."""
NOTHING = "<nothing>"
"""What is wanted of an option that keeps a layer away: that nobody asks for it."""


def _is_on(value: object, wanted: str | int | float | None) -> bool:
    if wanted == SEVERAL:
        return value != 1
    if wanted == NOT_OFF:
        return value not in (-1, 0, None, False)
    if wanted == NOTHING:
        return value in (0, None, False)
    return value not in (0, None, False) if wanted is None else value == wanted


def _parameter(node: ast.expr, scope: FunctionInfo) -> str | None:
    """Return the parameter of `scope` that `node` is, as its callers gave it."""
    if not isinstance(node, ast.Name) or any(name == node.id for name, _ in assignments(scope)):
        return None
    return node.id if any(parameter.arg == node.id for parameter, _ in parameters(scope)) else None


def _settled(node: ast.expr, scope: FunctionInfo) -> tuple[ast.expr, FunctionInfo]:
    """Return what is assigned, once and only once, to the attribute or local variable that `node` is, and where."""
    own = attribute_of(node, scope.self_name or "")
    kept: list[tuple[ast.expr, FunctionInfo]] = []
    if own is not None and scope.cls is not None:
        methods = scope.cls.methods.values()
        kept = [(value, method) for method in methods for name, value in stored(method) if name == own]
    elif isinstance(node, ast.Name) and all(parameter.arg != node.id for parameter, _ in parameters(scope)):
        within = scope if scope.assigns(node.id) else scope.module.body  # `LAYERS = 2`, at the top of a file
        kept = [(value, within) for name, value in assignments(within) if name == node.id]
        if within.is_body and f"global {node.id}" in within.module.text:
            return node, scope  # which a function sets
    return kept[0] if len(kept) == 1 else (node, scope)


def _source(node: ast.expr, scope: FunctionInfo) -> tuple[ast.expr, FunctionInfo]:
    """Return what an amount is made of, and where: `rates[i]` of `rates = [r.item() for r in linspace(0, rate, n)]`."""
    for _ in range(_DEEPEST):
        match node:
            case ast.Subscript(value=inner) | ast.ListComp(generators=[ast.comprehension(iter=inner)]):
                node = inner
            case ast.Call(func=func, args=[ast.Constant(0), inner, *_]) if last_name(func) == "linspace":
                node = inner
            case ast.Call(func=ast.Attribute(attr="item" | "tolist", value=inner), args=[]):
                node = inner
            case ast.Call(args=[inner], keywords=[]) if _SAME_AMOUNT.search(last_name(node.func) or ""):
                node = inner
            case _:
                before = node
                node, scope = _settled(node, scope)
                if node is before:
                    break
    return _folded(node), scope


def _folded(node: ast.expr) -> ast.expr:
    """Return -1 as the constant that it is, other expressions as they are."""
    match node:
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)):
            return ast.Constant(-value)
    return node


_SAME_AMOUNT = re.compile(r"^(float|list|tuple|iter)$|_?\d?tuple$|^pair$|_pair$")
"""Functions that give an amount back as it is, or several times."""


def where_asked_for(found: Dependence, function: FunctionInfo, node: ast.expr) -> Dependence:
    """Return `found`, of the layer that `node` makes or picks, as it hangs on an option: `if p > 0`, `norm == "batch"`.

    Of two that both must be on, that which is off unless somebody asks for it is kept.
    """
    hanging: list[Dependence] = []
    for test, holds in conditions(function, node):
        test, holds = unnegated(test, holds)
        if not holds:
            match test:
                case ast.Name() | ast.Attribute():  # `GroupNorm if group else BatchNorm`
                    hanging += _open(of_option(test, function, found.detail, NOTHING), found)
                case ast.Compare(left, [ast.Eq() | ast.Is() | ast.LtE()], [ast.Constant(0 | None)]):
                    hanging += _open(of_option(left, function, found.detail), found)  # `if noisy == 0: ... else: ...`
            continue
        both = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)
        for part in test.values if both else [test]:  # type: ignore[attr-defined]
            match part:
                case ast.Name() | ast.Attribute():
                    hung = of_option(part, function, found.detail)
                case ast.Compare(left, [ast.Gt() | ast.NotEq() | ast.IsNot()], [ast.Constant(0 | None)]):
                    hung = of_option(left, function, found.detail)
                case ast.Compare(left, [ast.Gt() | ast.NotEq()], [ast.UnaryOp(ast.USub(), ast.Constant(1))]):
                    hung = of_option(left, function, found.detail, NOT_OFF)
                case ast.Compare(left, [ast.Eq()], [ast.Constant(str() as wanted)]):
                    hung = of_option(left, function, found.detail, wanted)
                case _:
                    continue
            hanging += _open(hung, found)
    # all have to hold: `if norm:`, and within it `if norm == "batch":`
    return min(hanging, key=_how_likely, default=found)


def _open(hung: Dependence, found: Dependence) -> list[Dependence]:
    """Return what a condition leaves of `found`, if it leaves something open."""
    if hung.answer == YES and not (hung.options and found.is_certain):
        return []
    return [hung if hung.options or hung.answer == NO else found]


def _how_likely(found: Dependence) -> int:
    """Return how likely it is that a layer is there by default, as a rank."""
    if found.answer == NO:
        return 0
    return 1 if found.options and all(option.default == NO for option in found.options) else 2


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
