"""Does an option ask for a layer? What a constructor or a factory is asked for, by default and by a call of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import reduce
from typing import NamedTuple

from modellint.static.attributes import stored
from modellint.static.dependence import NO, UNKNOWN, YES, Dependence, Option
from modellint.static.guards import assignments, conditions, unnegated
from modellint.static.narrowing import attribute_of
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import parameters
from modellint.static.project.names import last_name

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


def is_left_out(node: ast.expr, maker: FunctionInfo, call: ast.Call, scope: FunctionInfo) -> bool:
    """Tell whether `node`, in a constructor or a factory, needs an option for which `call` in `scope` does not ask."""
    return _lacks_options(where_asked_for(Dependence(YES), maker, node), asked_by(call, maker, scope))


def stands_out(node: ast.expr, maker: FunctionInfo, asked: Asked) -> bool:
    """Tell whether `node` needs an option that is off, in the constructor or factory `maker` as it is asked."""
    hanging = where_asked_for(Dependence(YES), maker, node)
    return hanging.answer == NO or _lacks_options(hanging, asked)


def _lacks_options(hanging: Dependence, asked: Asked) -> bool:
    return bool(hanging.options) and all(asked.of(option).answer == NO for option in hanging.options)


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

    return joined([*answers, *by_options(built, told)])


def by_options(built: Dependence, told: Callable[[Option], Dependence]) -> Iterator[Dependence]:
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


def parameters_of(options: Iterable[Option]) -> frozenset[str]:
    """Return the parameters that some options hang on."""
    return frozenset(one.parameter for option in options for one in (option, *option.needs))


class Asked(NamedTuple):
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
            return hung(alone)
        if (self.starred or self.spread) and option.default == NO:
            return Dependence(UNKNOWN, hints=True)
        return Dependence(option.default, option.layer)


def asked_by(call: ast.Call, maker: FunctionInfo, scope: FunctionInfo) -> Asked:
    """Return what `call` in `scope` gives a constructor or a factory `maker`."""
    starred = any(isinstance(a, ast.Starred) for a in call.args)
    placed = [parameter.arg for parameter, _ in parameters(maker)][0 if maker.cls is None else 1 :]
    given: dict[str | None, ast.expr] = {keyword.arg: keyword.value for keyword in call.keywords}
    given |= {} if starred else dict(zip(placed, call.args, strict=False))
    return Asked(given, starred, [k.value for k in call.keywords if k.arg is None], scope)


def both(one: Dependence, other: Dependence) -> Dependence:
    """Return what holds of a layer that is there where both of two answers say so."""
    if NO in (one.answer, other.answer):
        return Dependence(NO)
    if one.is_certain or other.is_certain:
        return other if one.is_certain else one
    if not one.options or not other.options:
        return Dependence(UNKNOWN, hints=one.hints or other.hints)
    first, *others = sorted(one.options | other.options, key=repr)
    return hung(first._replace(needs=(*first.needs, *others)))


def _is_own_spread(node: ast.expr, scope: FunctionInfo) -> bool:
    """Tell whether `node` is the `**kwargs` of a constructor: what it does not name its callers may name."""
    taken = scope.node.args.kwarg if scope.node is not None and scope.name == "__init__" else None
    return taken is not None and isinstance(node, ast.Name) and node.id == taken.arg


def hung(option: Option) -> Dependence:
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
        return hung(Option(name, layer, NO if is_off else YES, wanted))
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
