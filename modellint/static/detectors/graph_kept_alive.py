"""Results are added up in a loop together with their graphs, and the sum is never differentiated."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.context import FileContext, Finding
from modellint.static.detectors.loss_sums import begins_with_each_batch, frees_graphs, loss_sums, losses_of_steps
from modellint.static.family import runs_without_gradients
from modellint.static.flow.data import AVERAGED, COLLECTED, METERED
from modellint.static.flow.events import ACCUMULATE, Event, Loop
from modellint.static.flow.frames import call_at, site_of
from modellint.static.guards import loops_around, own, targets_of
from modellint.static.merge import merged
from modellint.static.naming import snake
from modellint.static.project import FunctionInfo
from modellint.static.project.callers import scopes_mentioning
from modellint.static.project.names import is_called_on, last_name
from modellint.static.project.trees import walk
from modellint.static.purpose import functions_around, is_test_code
from modellint.static.sites import places, seen_in
from modellint.static.snapshots import in_eval


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report the statement that adds up, unless a gradient is computed from the sum or a caller may do so."""
    found = []
    for place in places(context, ACCUMULATE):
        if place.outside:
            continue
        for event in place.events:
            source = event.source
            if source is None or is_test_code(event):
                continue
            if not source.training and not any(s.obj.proven for s in source.snapshots):
                continue
            collected = event.key.detail == COLLECTED
            wanted = event.goes_on_with_graph and not (source.training and _trains_here(event))
            if wanted and not _adds_numbers_as_well(event, source):
                continue
            if collected and (not source.training or _is_another_entry(event)):
                continue
            if collected and "passed" in event.uses and not all(map(frees_graphs, functions_around(source))):
                continue
            if event.key.detail == METERED and (not _is_given_a_loss(event) or _is_reset_in_each_turn(event)):
                continue
            if event.key.detail != METERED and _counts(event):
                continue  # a meter says by what it is given that it is a loss
            if begins_with_each_batch(event.function, event.site.row, event.text):
                continue
            if _begins_anew(event) or _by_hand(source) or _is_step_of_module(event, context):
                continue
            if runs_without_gradients(event.root, context.project) or _is_called(event, context):
                continue
            if _stays_for_another_sum(event, context) or _is_set_anew(event) or _is_reset_by_steps(event):
                continue
            if not _loops_within(event) and not _grows_for_good(event, context):
                continue
            confidence = Confidence.CERTAIN if source.training else Confidence.LIKELY
            details = {"sum": event.text, "model": source.text, "adds": _HOW.get(event.key.detail, "adds up")}
            found.append(((place.site,), Finding(place.site, details, confidence)))
    findings = list(merged(found))
    yield from findings
    told = {finding.site.row for finding in findings}
    sums = (one for one in loss_sums(context) if not _is_set_by_another(one.total, one.function))
    kept = (one for one in losses_of_steps(context) if _grows(one.function, one.total, context))
    for one in (*sums, *kept):
        if one.node.lineno not in told:  # equivalent: else a place is told of twice
            adds = "collects" if isinstance(one.node, ast.Call) else "adds up"
            message = f"`{one.total}` {adds} `{one.loss}` together with its graph, which stays in memory"
            yield Finding(site_of(context.module, one.node), {}, Confidence.LIKELY, message=message)


_HOW = {COLLECTED: "collects", AVERAGED: "averages"}


def _adds_numbers_as_well(event: Event, source: Event) -> bool:
    """Tell whether an evaluation adds `loss.item()` to the same sum: whoever is handed it wants a number."""
    return all(map(in_eval, source.snapshots)) and any(
        ast.unparse(node.target) == event.text
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr == "item"
        for node in own(event.function, ast.AugAssign)
    )


def _stays_for_another_sum(event: Event, context: FileContext) -> bool:
    """Tell whether the same turns of a loop add up what is differentiated after it: the graphs are kept for that."""
    sums = (other for other in seen_in(context) if other.key.kind == ACCUMULATE and other.training)
    return any(other.loops == event.loops and not _begins_anew(other) for other in sums)


def _is_called(event: Event, context: FileContext) -> bool:
    """Tell whether a caller is in sight of what adds up: it tells itself, and under its `no_grad` there is no sum."""
    return any(step.callee is event.root for other in seen_in(context) for step in other.key.chain)


def _begins_anew(event: Event) -> bool:
    """Tell whether parts of one result are added up, and the sum is set anew before."""
    source = event.source
    around = source.loops if source is not None else ()
    first = around[-1].row if around else 0
    names = {event.text, event.text.partition("[")[0]}
    anew = [
        (node.lineno, part)
        for node in own(event.function, ast.Assign, ast.AnnAssign)
        for target in targets_of(node)
        for part in _stored(target)
    ]
    calls = event.function.calls_of("clear")
    anew += [(call.lineno, call.func.value) for call in calls if isinstance(call.func, ast.Attribute)]
    return any(first < row < event.site.row and ast.unparse(part) in names for row, part in anew)


def _loops_within(event: Event) -> list[Loop]:
    """Return the loops around what adds up that stand in the same function."""
    node = event.function.node
    return [loop for loop in event.loops if node is None or node.lineno <= loop.row <= (node.end_lineno or 0)]


def _grows_for_good(event: Event, context: FileContext) -> bool:
    """Tell whether what the calls of a method add up in begins as a number or a list that nobody empties."""
    assert event.source is not None
    return event.source.training and _grows(event.function, event.text, context)


def _grows(method: FunctionInfo, text: str, context: FileContext) -> bool:
    """Tell whether an attribute of the object begins as a number or a list that nothing in sight empties."""
    cls, attribute = method.cls, text.partition(".")[2]
    assert cls is not None
    begun = [value for _, value in context.classes.kept_in(cls, attribute)]
    if len(begun) != 1 or not isinstance(begun[0], (ast.Constant, ast.List)):
        return False
    scopes = scopes_mentioning(context.project, f".{attribute}", context.module.path)
    return not any(_empties(scope, attribute) for scope in scopes)


def _empties(scope: FunctionInfo, attribute: str) -> bool:
    """Tell whether a function takes something out of an attribute of that name, or puts something in its place."""
    emptied = [call.func.value for call in scope.calls_of(*_EMPTIES) if isinstance(call.func, ast.Attribute)]
    removed = [target for node in own(scope, ast.Delete) for target in node.targets]
    stored = [
        part
        for node in own(scope, ast.Assign, ast.AnnAssign)
        if scope.name != "__init__"
        for target in targets_of(node)
        for part in _stored(target)
    ]
    changed = (part.value if isinstance(part, ast.Subscript) else part for part in (*emptied, *removed, *stored))
    return any(last_name(part) == attribute for part in changed)


_EMPTIES = ("clear", "pop", "popleft", "remove")


def _is_set_anew(event: Event) -> bool:
    """Tell whether an attribute that adds up is set in the loop as well, or by another method, which the loop may call.

    What the constructor sets it to comes before.
    """
    first = max((loop.row for loop in _loops_within(event)), default=0)
    attribute = event.text.partition("[")[0]
    if "." in attribute and _is_set_in(event.function, attribute, first):
        return True
    return _is_set_by_another(event.text, event.function)


def _is_reset_by_steps(event: Event) -> bool:
    """Tell whether the loop that adds up what it trains on sets the sum to a number again, or empties the list, every
    so many turns.

    The backward of each turn has freed what the graphs hold.
    """
    assert event.source is not None
    if not event.source.training:
        return False
    added = own(event.function, ast.AugAssign, ast.Assign, ast.Expr)
    loops = [loops_around(event.function, node)[-1:] for node in added if node.lineno == event.site.row]
    inside = [node for around in loops for loop in around for node in walk(loop)]
    failing = {id(n) for handler in inside if isinstance(handler, ast.ExceptHandler) for n in walk(handler)}
    return any(_resets(node, event.text) for node in inside if id(node) not in failing)


def _resets(node: ast.AST, text: str) -> bool:
    match node:
        case ast.Assign(targets=[target, *_], value=ast.Constant() | ast.List(elts=[]) | ast.Dict(keys=[])):
            return ast.unparse(target) == text
        case ast.Call(func=ast.Attribute(value=held, attr="clear")):
            return ast.unparse(held) == text
    return False


def _is_set_by_another(text: str, function: FunctionInfo) -> bool:
    """Tell whether another method than the constructor sets an attribute that adds up."""
    attribute, cls = text.partition("[")[0], function.cls
    others = (method for method in (cls.methods.values() if cls is not None else ()) if method.name != "__init__")
    return "." in attribute and any(_is_set_in(m, attribute, 0) for m in others if m is not function)


def _is_set_in(scope: FunctionInfo, attribute: str, above: int) -> bool:
    return any(
        node.lineno > above and any(ast.unparse(target).startswith(attribute) for target in node.targets)
        for node in own(scope, ast.Assign)
    )


def _stored(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]


def _by_hand(source: Event) -> bool:
    """Tell whether the model computes gradients itself, from its input: `model.backward(x, y)` needs no graph."""
    receiver = source.text.removesuffix(".forward")
    return any(len(call.args) > 1 and is_called_on(call, receiver) for call in source.function.calls_of("backward"))


def _trains_here(event: Event) -> bool:
    """Tell whether the function that adds up also computes the gradients: what it hands back is a report."""
    return any(_BACKWARD.search(name) for name in event.function.callees)


_BACKWARD = re.compile(r"backward|step|optimi[sz]e|update|minimi[sz]e|train")

_COUNT = re.compile(
    r"(^|_)(\w?acc|accs?|accuracy|accuracies|correct\w*|hits?|counts?|counter|num\w*|n|samples?|tokens?|tp|fp|tn|fn|offset|"
    r"start|index|idx|pos|length|len|size|steps?|rewards?|ret|returns?|"
    r"\w?f1|f1_\w+|auc|auroc|m?iou|bleu|rouge|wer|cer|recall|precision|\w?score)(_|$)"
)
_LOSS = re.compile(r"(^|_)(\w*loss\w*|nll|kl\w*|mse|error|objective|penalty)(_|$)")


def _counts(event: Event) -> bool:
    """Tell whether a sum is one of hits, samples or positions, by its name: such numbers come without a graph."""
    name = snake(event.text)
    return bool(_COUNT.search(name)) and not _LOSS.search(name)


def _is_given_a_loss(event: Event) -> bool:
    """Tell whether a meter, or what it is given, is called a loss: of a metric nobody knows whether it has a graph."""
    call = call_at(event.function, event.site)
    names = [node for node in walk(call) if isinstance(node, (ast.Name, ast.Attribute))] if call is not None else []
    return any(_LOSS.search(snake(node.id if isinstance(node, ast.Name) else node.attr)) for node in names)


def _is_reset_in_each_turn(event: Event) -> bool:
    """Tell whether the innermost loop around a meter empties it, too."""
    call = call_at(event.function, event.site)
    loops = loops_around(event.function, call) if call is not None else []
    return any(
        is_called_on(reset, event.text) and loops[-1:] == loops_around(event.function, reset)[-1:]
        for reset in event.function.calls_of("reset")
    )


def _is_another_entry(event: Event) -> bool:
    """Tell whether only entries of a result are kept that are named for no loss: `result["boxes"]` of one with both.

    What a model out of sight puts beside its loss may be arrays.
    """
    call = call_at(event.function, event.site)
    nodes = [node for item in call.args for node in walk(item)] if call is not None else []
    keys = [
        node.slice.value for node in nodes if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
    ]
    names = [snake(key) for key in keys if isinstance(key, str)]
    return bool(names) and not any(map(_LOSS.search, names))


def _is_step_of_module(event: Event, context: FileContext) -> bool:
    """Tell whether a module adds up what its own parts give, on the way to its result: a residual, no running sum."""
    cls = event.function.cls
    return cls is not None and context.classes.is_module(cls) and not _LOSS.search(snake(event.text))
