"""A backend may choose another algorithm in each run, beside code that claims runs to be the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence, Severity
from modellint.static.context import FileContext, Finding
from modellint.static.guards import conditions, own, unnegated
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import is_false, parameters
from modellint.static.project.names import arguments_of, last_name
from modellint.static.project.trees import FunctionNode, walk

_GUARD = re.compile(r"determin|seed|reproduc|bench|fast|speed|debug", re.I)
_CLAIMS = re.compile(r"(^|_)(deterministic\w*|reproducib\w*|determinism)(_|$)")
_AGAINST = re.compile(r"(^|_)(non|not|no|un|without|disable|break|relax|skip)_")

Claim: TypeAlias = "tuple[ast.AST, FunctionInfo, str]"
"""What claims determinism, the function that it stands in, and what to call it."""


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report switches of a backend away from determinism, where the code beside them claims determinism.

    Options: `switches` are attributes and the constant that makes them vary from run to run, `claims` attributes and
    the constant that asks for determinism, `seeds` qualified names of functions that seed, `seed-helpers` a pattern of
    the names of functions that do, `arguments` pairs of keyword arguments that contradict each other.
    """
    options = rule.rule.detector_options
    for scope in context.scopes:
        for call in scope.calls:
            for varies, claims in options["arguments"]:
                if _is_true(call, varies) and _is_true(call, claims):
                    yield Finding(context.site(call), {"switch": f"{varies}=True", "claim": f"{claims}=True"})
        last = {name: assign for assign, name in _assigned(context, scope)}
        for name, assign in last.items():
            if not _is(assign, options["switches"].get(name)):
                continue
            claim = _promise(scope, assign)
            if claim is None and not _is_chosen(scope, assign):
                waived = _is_waived(context, last, options)
                claim = _claim(context, scope, options, waived) or _claim_of_callers(context, scope, options, waived)
            if claim is not None and not _is_taken_back(context, scope, assign, claim):
                written = f"{name.removeprefix('torch.backends.')} = {ast.unparse(assign.value)}"
                sure = Confidence.CERTAIN if claim[1] is scope else Confidence.LIKELY
                sure = Confidence.POSSIBLE if _is_a_mere_seed(claim, options) else sure
                severity = Severity.INFO if _is_said_of_seeds_alone(context, claim, options) else None
                related = ((context.site(claim[0]), "determinism is claimed here"),)
                details = {"switch": written, "claim": claim[2]}
                yield Finding(context.site(assign), details, sure, severity, related=related)


def _is_a_seed(claim: Claim) -> bool:
    """Tell whether nothing but a seed claims determinism."""
    return isinstance(claim[0], ast.Call) and _ASKS.search(claim[2]) is None


_ASKS = re.compile(r"determin|reproduc", re.I)


def _is_a_mere_seed(claim: Claim, options: Mapping[str, Any]) -> bool:
    """Tell whether torch's own generator is seeded, in a file that nowhere speaks of what for.

    Half of those who write `torch.manual_seed(...)` want their runs to be alike, not to be the same to the last bit.
    """
    call, scope, _ = claim
    if not _is_a_seed(claim):
        return False
    names = (scope.name, last_name(call) if isinstance(call, ast.Call) else None)
    if any(re.search(options["seed-helpers"], name or "") for name in names):
        return False
    return _ASKS.search(_DECLINES.sub("", scope.module.text)) is None


def _is_said_of_seeds_alone(context: FileContext, claim: Claim, options: Mapping[str, Any]) -> bool:
    """Tell whether seeds are set, by whatever helper, and nothing else is done for runs to be the same.

    Who seeds wants runs alike, and a comment calls that reproducible. That they are the same to the last bit is said
    where the file, or the helper, speaks of determinism, or where the function that seeds is the one that switches.
    """
    scope = claim[1]
    if not _is_a_seed(claim) or re.search(options["seed-helpers"], scope.name):
        return False
    helper = _helper(context, claim)
    told = [scope.module.text] if helper is None else [scope.module.text, ast.unparse(helper)]
    return not any("determin" in _DECLINES.sub("", text).lower() for text in told)


def _helper(context: FileContext, claim: Claim) -> FunctionNode | None:
    """Return the function of the project that a claim calls."""
    call, scope, _ = claim
    symbol = context.project.resolve_in(scope, call.func) if isinstance(call, ast.Call) else None
    helper = symbol.target if symbol is not None else None
    return helper.node if isinstance(helper, FunctionInfo) else None


def _is_taken_back(context: FileContext, scope: FunctionInfo, assign: ast.Assign, claim: Claim) -> bool:
    """Tell whether what is called for determinism, further down in `scope`, sets the same switch to something else."""
    helper = _helper(context, claim)
    if helper is None or claim[1] is not scope or claim[0].lineno < assign.lineno:  # type: ignore[attr-defined]
        return False
    names = {target.attr for target in assign.targets if isinstance(target, ast.Attribute)}
    return any(
        isinstance(node, ast.Assign)
        and ast.unparse(node.value) != ast.unparse(assign.value)
        and any(last_name(target) in names for target in node.targets)
        for node in walk(helper)
    )


_DECLINES = re.compile(r"deterministic\s*=\s*(False|None)")
"""What tells of determinism that nobody asked for."""


def _is_waived(context: FileContext, last: Mapping[str, ast.Assign], options: Mapping[str, Any]) -> bool:
    """Tell whether the author has chosen speed: by all switches at once, or by what a trainer is told."""
    if all(_is(last.get(name), wanted) for name, wanted in options["switches"].items()):
        return True
    told = (k for scope in context.scopes for call in scope.calls_of(*_TRAINERS) for k in call.keywords)
    return any(k.arg == "deterministic" and is_false(k.value) for k in told)


_TRAINERS = ("Trainer", "Fabric")


def _is(assign: ast.Assign | None, wanted: object) -> bool:
    if assign is None or wanted is None:
        return False
    return isinstance(assign.value, ast.Constant) and assign.value.value is wanted


def _is_true(call: ast.Call, name: str) -> bool:
    given = (k.value for k in call.keywords if k.arg == name and isinstance(k.value, ast.Constant))
    return any(value.value is True or value.value == "warn" for value in given)


def _assigned(context: FileContext, scope: FunctionInfo) -> Iterator[tuple[ast.Assign, str]]:
    """Yield the assignments to attributes in `scope`, with their qualified names."""
    for node in own(scope, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                yield node, context.qualified(scope, target) or ""


def _is_chosen(scope: FunctionInfo, node: ast.AST) -> bool:
    """Tell whether a condition decides for or against determinism here."""
    return any(_GUARD.search(ast.unparse(test)) for test, _ in conditions(scope, node))


def _promise(scope: FunctionInfo, node: ast.AST) -> Claim | None:
    """Return the condition that asks for determinism, and holds where `node` runs: no choice against it."""
    for asked, holds in conditions(scope, node):
        test, holds = unnegated(asked, holds)
        name = last_name(test) or ""
        if holds and _CLAIMS.search(name) and not _AGAINST.search(name):
            return asked, scope, f"the condition `{ast.unparse(asked)}`"
    return None


def _claim(context: FileContext, scope: FunctionInfo, options: Mapping[str, Any], waived: bool) -> Claim | None:
    """Return what claims determinism in `scope` itself, or for a function in its signature.

    `waived`: what nothing but a seed claims does not count.
    """
    claims = _claims(context, scope, options)
    return next((claim for claim in claims if not (waived and _is_a_seed(claim))), None)


def _claims(context: FileContext, scope: FunctionInfo, options: Mapping[str, Any]) -> Iterator[Claim]:
    for call in scope.calls:
        name = last_name(call.func) or ""
        if (not call.args and not call.keywords) or _asks_for_none(call):
            continue
        qualified = context.qualified(scope, call.func) or ""
        helper = re.search(options["seed-helpers"], name) is not None and not _ASKED_APART.match(qualified)
        if (helper or qualified in options["seeds"]) and not _is_drawn(context, scope, call):
            yield call, scope, f"{ast.unparse(call.func)}()"
        for keyword in call.keywords:
            if _CLAIMS.search(keyword.arg or "") and _is_true(call, keyword.arg or ""):
                yield call, scope, f"{keyword.arg}=True"
    for assign, name in _assigned(context, scope):
        if _is(assign, options["claims"].get(name)):
            yield assign, scope, f"{name.removeprefix('torch.backends.')} = {ast.unparse(assign.value)}"
    for argument, _ in parameters(scope):
        if _CLAIMS.search(argument.arg):
            yield argument, scope, f"the argument `{argument.arg}`"


def _asks_for_none(call: ast.Call) -> bool:
    """Tell whether a call takes a claim back that was made elsewhere: `use_deterministic_algorithms(False)`."""
    return bool(_ASKS.search(last_name(call) or "")) and any(map(is_false, arguments_of(call)[:1]))


_ASKED_APART = re.compile(r"mm(cv|engine|det\w*|seg|cls|pretrain|pose|action)\.")
"""Libraries whose helpers seed, and leave the backends alone unless they are told `deterministic=True`."""


def _is_drawn(context: FileContext, scope: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether the file draws the seed itself, unless it is given one: `args.seed = random.randint(1, 10000)`.

    A variable of that name in another function is another one.
    """
    given = {ast.unparse(argument) for argument in call.args if isinstance(argument, (ast.Name, ast.Attribute))}
    return any(
        isinstance(assign.value, ast.Call)
        and last_name(assign.value.func) in _DRAWS
        and any(
            ast.unparse(target) in given
            and (other in (scope, context.module.body) or isinstance(target, ast.Attribute))
            for target in assign.targets
        )
        for other in (context.scopes if given else ())
        for assign in own(other, ast.Assign)
    )


_DRAWS = frozenset({"randint", "randrange", "getrandbits", "random", "randbits", "time", "time_ns"})
"""What a seed is drawn with, of a generator or of a clock."""


def _claim_of_callers(
    context: FileContext, scope: FunctionInfo, options: Mapping[str, Any], waived: bool
) -> Claim | None:
    """Return the claim of a function of this file that calls `scope`, or that hands it on to be called."""
    if scope.is_body:
        return next(
            (
                found
                for other in context.scopes
                if _is_main(other) and (found := _claim(context, other, options, waived))
            ),
            None,
        )
    for other in context.scopes:
        handed = any(isinstance(a, ast.Name) and a.id == scope.name for call in other.calls for a in call.args)
        if scope.name in other.callees or handed:
            found = _claim(context, other, options, waived)
            if found is not None:
                return found
    return None


def _is_main(scope: FunctionInfo) -> bool:
    return scope.name in ("main", "run", "train", "main_worker") and scope.cls is None
