"""Functional dropout, attention dropout or batch norm that does not follow `self.training`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.attributes import stored
from modellint.static.context import FileContext, Finding
from modellint.static.detectors.dropout_by_hand import dropouts_always_on, drops_by_hand
from modellint.static.guards import (
    assignments,
    conditions,
    own,
    path_to,
    runs_in_eval_only,
    speaks_of_mode,
    tied_to_mode,
    value_tied_to_mode,
    values_of,
)
from modellint.static.method_for_flag import is_method_for_flag
from modellint.static.naming import is_test_module, snake
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.callers import scopes_mentioning
from modellint.static.project.facts import argument_given, called_name, parameters, taken
from modellint.static.project.names import arguments_of, dotted_name, last_name, names_in
from modellint.static.project.trees import walk


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report calls whose randomness or batch statistics stay on in evaluation mode.

    The detector's options: `functions` maps a qualified name to {training: position or null, default: the value of
    `training` when it is not given, p: position or null, probability: the name of that argument where it is not `p`,
    weight-ok: true where a parameter as input is no defect, required: true where `training` has to be given,
    of-a-graph: true where it drops edges or nodes, which augments data as well};
    `keywords` lists keyword arguments which are a dropout probability wherever they are passed inside a forward.
    """
    if is_test_module(context.module):
        return  # an operator, and what becomes of it
    functions: Mapping[str, Mapping[str, Any]] = rule.rule.detector_options["functions"]
    keywords: list[str] = rule.rule.detector_options["keywords"]
    names = {name.rsplit(".", 1)[-1] for name in functions}
    for draw in dropouts_always_on(context):
        yield _finding(context, draw, f"{ast.unparse(draw.func)}(...)", Confidence.LIKELY)
    for scope in context.scopes:
        if scope.cls is None and not _FIGURES.isdisjoint(scope.callees):
            continue  # it shows what dropout does
        for call in scope.calls:
            name = called_name(context.module, call)
            alias = _alias(context, scope, call.func)
            if alias is not None and alias in functions:
                yield from _judge(context, scope, call, functions[alias])
                continue
            if name in names:  # equivalent: saves the look
                qualified = context.qualified(scope, call.func)
                entry = functions.get(qualified or "")
                if entry is not None:
                    yield from _judge(context, scope, call, entry)
                    continue
            if name is not None and drops_by_hand(context, scope, call, name):
                yield _finding(context, call, f"{ast.unparse(call.func)}(...)", Confidence.LIKELY)
                continue
            if name is not None and _DROPS.search(snake(name)) and _is_told_the_method(context, scope, call):
                written = f"{ast.unparse(call.func)}(...), told `{scope.self_name}.train`, which is always true,"
                yield _finding(context, call, written, Confidence.CERTAIN)
                continue
            for keyword in call.keywords:
                if keyword.arg in keywords and _runs_in_forward(scope) and not (name or "A")[:1].isupper():
                    if _hands_on(context, scope, call) and _always_on(context, scope, call, keyword.value):
                        yield _finding(context, call, f"{keyword.arg}={ast.unparse(keyword.value)}", Confidence.LIKELY)


_DROPS = re.compile(r"(^|_)drop(out\w*|_?(path|connect|block|channel|edge|node)s?)(_|$)")
"""Functions of anybody that drop something at random, by their names."""

_FIGURES = frozenset({"subplots", "figure", "imshow", "savefig"})
"""What a function calls that draws a figure."""


def _alias(context: FileContext, scope: FunctionInfo, func: ast.expr) -> str | None:
    """Return the qualified name of the function that a local variable or an attribute of `self` is another name for."""
    if isinstance(func, ast.Name):
        if func.id not in scope.stores:  # equivalent: saves the look
            return None
        values = [(scope, value) for value in values_of(scope, func.id)]
    elif isinstance(func, ast.Attribute) and scope.cls is not None and isinstance(func.value, ast.Name):
        if func.value.id != scope.self_name:
            return None
        init = scope.cls.methods.get("__init__")
        values = [(init, value) for value in _stored(init).get(func.attr, ())] if init is not None else []
    else:
        return None
    if len(values) != 1 or not isinstance(values[0][1], (ast.Name, ast.Attribute)):
        return None
    where, value = values[0]
    return context.qualified(where, value)


def _stored(method: FunctionInfo) -> Mapping[str, list[ast.expr]]:
    """Return what is assigned to attributes in `method`, by their names."""
    known: dict[str, list[ast.expr]] | None = method.memo.get(_stored)
    if known is None:  # equivalent: looked up once
        known = method.memo[_stored] = {}
        for node in own(method, ast.Assign):
            for name in {target.attr for target in node.targets if isinstance(target, ast.Attribute)}:
                known.setdefault(name, []).append(node.value)
    return known


def _runs_in_forward(scope: FunctionInfo) -> bool:
    return scope.cls is not None and scope.name != "__init__"


def _hands_on(context: FileContext, scope: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether the callee is an attention function held in an attribute or a variable: it cannot know the mode."""
    symbol = context.project.resolve_in(scope, call.func)
    if symbol is not None:
        return symbol.target is None and not context.knowledge.is_library(symbol.dotted)
    assert scope.cls is not None
    told = any(
        isinstance(keyword.value, ast.Attribute) and keyword.value.attr == "training" for keyword in call.keywords
    )
    if told or not context.classes.is_module(scope.cls):
        return False
    func = call.func
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == scope.self_name:
        return context.project.method(scope.cls, func.attr) is None and _holds_function(scope, func.attr)
    return False


def _holds_function(scope: FunctionInfo, attribute: str) -> bool:
    """Tell whether `self.attribute` is, by its name or assignment, a function and no module of its own."""
    assert scope.cls is not None
    for method in scope.cls.methods.values():
        for node in walk(method.node) if method.node else ():
            if isinstance(node, ast.Assign) and any(
                isinstance(t, ast.Attribute) and t.attr == attribute for t in node.targets
            ):
                made = last_name(node.value) if isinstance(node.value, ast.Call) else None
                return made is None or not made[:1].isupper()
    return True


def _judge(context: FileContext, scope: FunctionInfo, call: ast.Call, entry: Mapping[str, Any]) -> Iterator[Finding]:
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return
    chance = argument_given(
        call, (entry.get("probability", "dropout_p" if entry.get("attention") else "p"),), entry.get("p")
    )
    if isinstance(chance, ast.Constant) and chance.value in (0, 0.0, None, False):
        return
    if entry.get("attention"):
        if chance is not None and _always_on(context, scope, call, chance):
            yield _finding(context, call, f"dropout_p={ast.unparse(chance)}", Confidence.CERTAIN)
        return
    if entry.get("weight-ok") and call.args and "weight" in ast.unparse(call.args[0]).lower():
        return  # weight standardisation looks at a parameter, never at the batch
    if chance is not None and _set_by_mode(scope, chance):
        return
    if entry["default"] and call.args and "noise" in ast.unparse(call.args[0]).lower():
        return  # noise thinned out, by a sampler
    if entry.get("of-a-graph") and not _drops_on_the_way(context, scope, call):
        return
    training = argument_given(call, (entry.get("keyword", "training"),), entry.get("training"))
    written = ast.unparse(call.func)
    if (
        _is_beside_a_backward(scope, call)
        or _called_in_training_only(context, scope)
        or (chance is not None and _callers_tie(context, scope, chance))
    ):
        return
    if tied_to_mode(scope, call):
        if entry["default"] and training is None and runs_in_eval_only(scope, call):
            sure = Confidence.POSSIBLE if _on_purpose(context, scope) else Confidence.CERTAIN
            yield _finding(context, call, f"{written}(...) under `not self.training`", sure)
        return
    if training is None:
        if entry["default"]:
            if chance is not None and _is_off_unless_given(scope, chance) and not _is_called(context, scope):
                return
            meant = _on_purpose(context, scope) or _is_for_any_caller(context, scope, chance)
            sure = Confidence.POSSIBLE if meant else Confidence.CERTAIN
            yield _finding(context, call, f"{written}(...) without training=", sure)
    elif isinstance(training, ast.Constant):
        if training.value is True:
            asked = bool(entry.get("required")) and scope.cls is not None and not _on_purpose(context, scope)
            asked = asked and not (chance is not None and _is_off_unless_given(scope, chance))
            oversight = not _on_purpose(context, scope) and _ties_elsewhere(scope, call)
            slip = Confidence.LIKELY if _is_without_reason(context, scope, call) else Confidence.POSSIBLE
            named = f"{written}(..., {entry.get('keyword', 'training')}=True)"
            yield _finding(context, call, named, Confidence.CERTAIN if asked or oversight else slip)
    elif _always_true(context, scope, training):
        yield _finding(context, call, f"training={ast.unparse(training)}, which is always true,", Confidence.CERTAIN)
    elif _turned_round(training):
        yield _finding(
            context, call, f"training={ast.unparse(training)}, which is true at inference,", Confidence.CERTAIN
        )


def _drops_on_the_way(context: FileContext, scope: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether the forward of a module drops once; twice makes two views of a graph, to be contrasted."""
    inside = scope.cls is not None and scope.name == "forward" and context.classes.is_module(scope.cls)
    if not inside:
        return False
    under = set(conditions(scope, call))
    others = (other for other in scope.calls_of(last_name(call.func) or "") if other is not call)
    return all(any((test, not holds) in under for test, holds in conditions(scope, other)) for other in others)


_ALWAYS_DROPS = re.compile(r"Prenet|PreNet|Perturb|Skip|Bayes|MonteCarlo|^MC[A-Z]")


_REPEATS = re.compile(r"(^|_)(mc|monte_?carlo|uncertainty)(_|$)")
"""Names of methods that draw again and again from one input."""


def _on_purpose(context: FileContext, scope: FunctionInfo) -> bool:
    """Tell whether dropout that is always on may be the job: of a decoder's prenet, of what is no module at all, of a
    method that averages over draws."""
    if scope.cls is None:
        return False
    if _ALWAYS_DROPS.search(scope.cls.name) or _REPEATS.search(snake(scope.name)):
        return True
    return _is_no_module(context, scope.cls)


def _is_without_reason(context: FileContext, scope: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a module's forward drops whatever the mode, and its file tells none of the reasons there are."""
    return (
        scope.cls is not None
        and scope.name == "forward"
        and context.classes.is_module(scope.cls)
        and not any(conditions(scope, call))
        and _DROPS_BY_TRADE.search(scope.cls.name) is None
        and _REASONS.search(context.module.text) is None
    )


_DROPS_BY_TRADE = re.compile(r"drop|noise|mask|augment|jitter|perturb|transform", re.I)
"""How modules are called whose job it is: who runs them decides when."""

_REASONS = re.compile(
    r"(?<![a-z])n?mcd?(?![a-z])|monte.?carlo|bayes|uncertain|epistemic|posterior|variational|laplace|thompson|bandit|ensembl|"
    r"stochastic|active.?learning|(num|n)_?(samples|passes|draws)|generator|discriminator|contrastive|simcse|r-?drop|gumbel|"
    r"pre[-_ ]?net|tacotron|spectrogram|(?<![a-z])mels?(?![a-z])|w_init_gain|always|even (at|in|during|when|if|for)\b|"
    r"on purpose|deliberate|intention|noise|pix2pix|(?<![a-z])gans?(?![a-z])|(test|inference|eval\w*)[- ]time|augment",
    re.I,
)
"""What files speak of whose dropout is never to be switched off: samples of predictions, noise of generative networks,
views to be contrasted, the prenet of a speech decoder."""


def _is_for_any_caller(context: FileContext, scope: FunctionInfo, chance: ast.expr | None) -> bool:
    """Tell whether a function drops what it is asked to, and no module in sight calls it: an augmentation."""
    given = {argument.arg for argument, _ in parameters(scope)}
    names = names_in(chance) if chance is not None else set()
    if scope.cls is not None or names.isdisjoint(given):
        return False
    callers = scopes_mentioning(context.project, f"{scope.name}(", context.module.path)
    classes = {caller.cls for caller in callers if scope.name in caller.callees and caller.cls is not None}
    return bool(classes) and not any(map(context.classes.may_be_module, classes))


def _is_no_module(context: FileContext, cls: ClassInfo) -> bool:
    """Tell whether a class derives from nothing, and no module of its file from it."""
    if any(base != "object" for base in context.project.ancestry(cls)[1]):
        return False
    heirs = (other for other in context.module.classes if cls in context.project.ancestry(other)[0])
    return not any(context.classes.is_module(heir) for heir in heirs)


def _is_off_unless_given(scope: FunctionInfo, chance: ast.expr) -> bool:
    """Tell whether a probability is an argument that is zero by default, as that of torch's own attention is."""
    return isinstance(chance, ast.Name) and any(
        argument.arg == chance.id and isinstance(default, ast.Constant) and not default.value
        for argument, default in parameters(scope)
    )


def _is_called(context: FileContext, scope: FunctionInfo) -> bool:
    """Tell whether a function may be called by somebody in sight; a method is, by what runs its object."""
    if scope.cls is not None:
        return True
    # a file that holds the name may just define another function that is called so
    callers = scopes_mentioning(context.project, f"{scope.name}(", context.module.path)
    return any(scope.name in caller.callees for caller in callers)


def _is_beside_a_backward(scope: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether the innermost loop around a call trains: what it drops, it drops for that."""
    loop = _loop_around(scope, call)
    return loop is not None and any(_loop_around(scope, other) is loop for other in scope.calls_of("backward"))


def _loop_around(scope: FunctionInfo, call: ast.Call) -> ast.AST | None:
    return next((node for node in reversed(path_to(scope, call)) if isinstance(node, (ast.For, ast.While))), None)


def _called_in_training_only(context: FileContext, scope: FunctionInfo) -> bool:
    """Tell whether a function, or a method by its class, is called under a condition on the mode only."""
    if scope.name in ("forward", "__call__"):
        return False
    if scope.cls is not None:
        calls = [
            (method, call)
            for method in scope.cls.methods.values()
            for call in method.calls_of(scope.name)
            if isinstance(call.func, ast.Attribute)
        ]
    else:
        calls = [
            (caller, call)
            for caller in scopes_mentioning(context.project, f"{scope.name}(", context.module.path)
            for call in caller.calls_of(scope.name)
            if (symbol := context.project.resolve_in(caller, call.func)) is not None and symbol.target is scope
        ]
    return bool(calls) and all(tied_to_mode(c, call) and not runs_in_eval_only(c, call) for c, call in calls)


def _callers_tie(context: FileContext, scope: FunctionInfo, chance: ast.expr) -> bool:
    """Tell whether a probability is an argument that every caller in the file, or the class, makes follow the mode."""
    names = taken(scope)
    if not isinstance(chance, ast.Name) or chance.id not in names or scope.name == "forward":
        return False
    callers = context.scopes if scope.cls is None else scope.cls.methods.values()
    calls = [
        (caller, call)
        for caller in callers
        for call in caller.calls_of(scope.name)
        if isinstance(call.func, ast.Name if scope.cls is None else ast.Attribute)
    ]
    given = [(caller, argument_given(call, (chance.id,), names.index(chance.id))) for caller, call in calls]
    off = any(a.arg == chance.id and isinstance(d, ast.Constant) and not d.value for a, d in parameters(scope))
    return bool(given) and all(off if value is None else _set_by_mode(caller, value) for caller, value in given)


def _set_by_mode(scope: FunctionInfo, value: ast.expr) -> bool:
    """Tell whether a variable is set, or an expression chosen, under a condition on the mode.

    Or an attribute is set to zero by a method that is asked to: `if evaluation: self.rate = 0`.
    """
    if isinstance(value, ast.Attribute) and scope.cls is not None:
        methods = (method for name, method in scope.cls.methods.items() if name != "__init__")
        if any(
            name == value.attr and _is_zero(given) and tied_to_mode(method, given)
            for method in methods
            for name, given in stored(method)
        ):
            return True
    if not isinstance(value, ast.Name):
        return speaks_of_mode(scope, value)
    return any(
        name == value.id and (speaks_of_mode(scope, given) or tied_to_mode(scope, given))
        for name, given in assignments(scope)
    )


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _turned_round(node: ast.expr) -> bool:
    """Tell whether `node` is `not self.training`."""
    inner = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else None
    return isinstance(inner, ast.Attribute) and inner.attr == "training"


def _always_true(context: FileContext, scope: FunctionInfo, node: ast.expr) -> bool:
    """Tell whether `node` is `self.train`, the method, or `~self.training`, which is -1 or -2."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        return any(
            (isinstance(v, ast.Constant) and v.value is True) or _always_true(context, scope, v) for v in node.values
        )
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return isinstance(node.operand, ast.Attribute) and node.operand.attr == "training"
    return is_method_for_flag(context, scope, node)


def _is_told_the_method(context: FileContext, scope: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a module gives a function its `train` where the flag is meant."""
    return any(is_method_for_flag(context, scope, value) for value in arguments_of(call))


def _always_on(context: FileContext, scope: FunctionInfo, call: ast.Call, chance: ast.expr) -> bool:
    """Tell whether a dropout probability keeps its value in evaluation mode."""
    inverted = isinstance(chance, ast.IfExp) and _turned_round(chance.test)
    tied = not isinstance(chance, ast.Constant) and not inverted and value_tied_to_mode(scope, chance)
    if tied or tied_to_mode(scope, call):
        return False
    if isinstance(chance, ast.Attribute) and isinstance(chance.value, ast.Name) and chance.value.id == "ctx":
        return False  # what the forward of an autograd function was given, kept for its backward
    if isinstance(chance, ast.IfExp) and _turned_round(chance.test):
        return not _is_zero_attribute(context, scope, chance.body)
    if isinstance(chance, ast.IfExp):
        return not _is_zero_attribute(context, scope, chance.body) or not _is_zero_attribute(
            context, scope, chance.orelse
        )
    if isinstance(chance, ast.Name):
        values = values_of(scope, chance.id)
        return any(not (isinstance(v, ast.Constant) and not v.value) for v in values)
    return not _is_zero_attribute(context, scope, chance)


def _is_zero_attribute(context: FileContext, scope: FunctionInfo, node: ast.expr) -> bool:
    """Tell whether `node` is zero, or an attribute of `self` that is zero or worked out by a property."""
    if isinstance(node, ast.Constant):
        return node.value in (0, 0.0, None, False)
    if not isinstance(node, ast.Attribute) or scope.cls is None:
        return not isinstance(node, ast.Attribute)
    method = context.project.method(scope.cls, node.attr)
    if method is not None:
        return not _hands_out_an_attribute(method)
    values = []
    for other in scope.cls.methods.values():
        for statement in walk(other.node) if other.node else ():
            if isinstance(statement, ast.Assign) and any(
                isinstance(t, ast.Attribute) and t.attr == node.attr for t in statement.targets
            ):
                values.append(statement.value)
    return bool(values) and all(isinstance(v, ast.Constant) and not v.value for v in values)


def _hands_out_an_attribute(method: FunctionInfo) -> bool:
    """Tell whether a property does no more than to return an option that the object holds: `self.cfg.dropout`."""
    match [statement for statement in method.body if not isinstance(statement, ast.Expr)]:
        case [ast.Return(value=ast.Attribute() as value)]:
            return re.match(rf"{method.self_name}\.\w+\.", dotted_name(value) or "") is not None
    return False


def _ties_elsewhere(scope: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether the class ties a dropout or norm to `self.training` in another place."""
    if scope.cls is None:
        return False
    for method in scope.cls.methods.values():
        for other in method.calls:
            if any(
                isinstance(node, ast.Attribute) and node.attr == "training"
                for argument in arguments_of(other)
                for node in walk(argument)
            ):
                return True
    return False


def _finding(context: FileContext, call: ast.Call, written: str, confidence: Confidence) -> Finding:
    return Finding(context.site(call), {"written": written}, confidence)
