"""Insert `model.eval()` where the model is complete: behind its creation or loading, or before the evaluation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from modellint.catalog import Rule
from modellint.diagnostic import Diagnostic, Severity
from modellint.fixing.classes import is_in_model
from modellint.fixing.document import Change, Document, Rewrite, Statement, before, behind
from modellint.fixing.names import TRAINING, dotted, last_name, own, targets, words

_SETS_UP = frozenset({"to", "cuda", "cpu", "half", "float", "double", "bfloat16", "requires_grad_", "share_memory"})

_LOSS = re.compile(r"(^|_)(loss|losses|criterion)(_|$)", re.I)


def fix(document: Document, finding: Diagnostic, rule: Rule) -> Change | None:
    """Put the model of the forward that the finding marks into evaluation mode, in the scope that made it."""
    node = document.at(finding.span, cst.BaseExpression)
    if node is None or is_in_model(document, node) or finding.severity is Severity.INFO:
        return None
    name = _model(document, node, finding)
    if name is None:
        return _chained(document, node, finding)
    place = _place(document, node, name)
    if place is None:
        return None
    owner, statement, ahead = place
    if _is_mentioned(document.scope(statement), owner):
        return None  # the slip is what there is to repair
    if ahead and (opposite := _training_before(document, statement, owner)) is not None:
        switch = cst.Call(cst.Attribute(cst.ensure_type(opposite.func, cst.Attribute).value, cst.Name("eval")))
        return Change(document.replaced(opposite, switch), f"Call `{owner}.eval()` instead")
    code = document.parse(f"{owner}.eval()\n")
    rewrite: Rewrite = before(code) if ahead else behind(code)
    return Change(document.rewritten({statement: rewrite}), f"Insert `{owner}.eval()`")


def _training_before(document: Document, statement: Statement, owner: str) -> cst.Call | None:
    """Return the call `owner.train()` that stands alone right before `statement`."""
    block = document.block(statement)
    body = list(block.body) if block is not None else []
    at = next((number for number, inner in enumerate(body) if inner is statement), 0)
    earlier = body[at - 1] if at else None
    if not isinstance(earlier, cst.SimpleStatementLine) or len(earlier.body) != 1:
        return None
    alone = earlier.body[0]
    call = alone.value if isinstance(alone, cst.Expr) else None
    return call if isinstance(call, cst.Call) and dotted(call.func) == f"{owner}.train" and not call.args else None


def _model(document: Document, node: cst.BaseExpression, finding: Diagnostic) -> str | None:
    """Return the dotted name of the model at the place of the finding."""
    subject = finding.subject or ""
    mentioned = {dotted(inner) for inner in own(node)}
    if subject in mentioned:
        return subject
    for related in finding.related:  # a call that leads to the forward: what was created in this scope goes there
        if related.filename != finding.filename:
            continue
        created = document.starting(related.position, cst.BaseExpression)
        around = [created, *document.ancestors(created)] if created is not None else []
        for statement in around:
            for name in targets(statement):
                if document.scope(statement) is document.scope(node):
                    return name
    return None


def _chained(document: Document, node: cst.BaseExpression, finding: Diagnostic) -> Change | None:
    """`resnet18()(x)` has no name: it becomes `resnet18().eval()(x)`."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Call):
        return None
    written = ast.unparse(ast.parse(document.module.code_for_node(node.func).strip(), mode="eval"))
    if written != finding.subject:
        return None
    made = cst.Call(cst.Attribute(node.func, cst.Name("eval")))
    return Change(document.replaced(node.func, made), "Insert `.eval()`")


def _place(document: Document, node: cst.CSTNode, name: str) -> tuple[str, Statement, bool] | None:
    """Return what to call eval() on, the statement beside which to do so, and whether that is before it."""
    around = list(document.statements(node))
    for statement in around:
        block = document.block(statement)
        if block is None:
            continue
        body = list(block.body)
        earlier = body[: next(n for n, inner in enumerate(body) if inner is statement)]
        for sibling in reversed(earlier):
            owner = _touched(sibling, name)
            if owner is None:
                continue
            between = earlier[next(n for n, inner in enumerate(earlier) if inner is sibling) :]
            if not _trains(*between, statement) and not _switches(sibling, name):
                assert isinstance(sibling, (cst.SimpleStatementLine, cst.BaseCompoundStatement))
                return owner, sibling, False
            reached = around[: 1 + next(n for n, inner in enumerate(around) if inner is statement)]
            return _before_evaluation(reached, owner)
    made = _made_elsewhere(document, node, name)
    if made is not None and _keeps_what_it_is_given(document, made[1], name):
        return None if _computes_losses(document, made[1]) else _before_evaluation(around, name)
    if made is None and "." in name and name.split(".")[0] not in ("self", "cls"):
        return None  # a method of a model, perhaps, or an entry of some namespace
    return made if made is not None else _before_evaluation(around, name)


def _before_evaluation(around: list[Statement], name: str) -> tuple[str, Statement, bool] | None:
    """Return the outermost of the statements `around` a forward that does nothing but evaluate."""
    evaluating = [statement for statement in around if not _trains(statement)]
    return (name, evaluating[-1], True) if evaluating else None


def _made_elsewhere(document: Document, node: cst.CSTNode, name: str) -> tuple[str, Statement, bool] | None:
    """Return where an attribute is made in the constructor, a variable in a function around, a global at the top."""
    scope = document.scope(node)
    if not isinstance(scope, cst.FunctionDef):
        return None
    me, _, attribute = name.partition(".")
    owner = document.enclosing(scope, cst.FunctionDef, cst.ClassDef)
    if attribute and isinstance(owner, cst.ClassDef) and not _trains(owner):
        methods = [inner for inner in owner.body.body if isinstance(inner, cst.FunctionDef)]
        bodies = [list(inner.body.body) for inner in methods if inner.name.value == "__init__"]
    else:
        bodies = list(_bodies_around(document, scope, me))
    for body in bodies:
        for statement in reversed(body):
            touched = _touched(statement, name)
            if touched is not None and isinstance(statement, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
                return touched, statement, False
    return None


def _keeps_what_it_is_given(document: Document, statement: Statement, name: str) -> bool:
    """Tell whether a constructor keeps a model that it is given: whoever gave it may train it afterwards."""
    constructor = document.enclosing(statement, cst.FunctionDef)
    if not isinstance(constructor, cst.FunctionDef) or constructor.name.value != "__init__":
        return False
    given = {parameter.name.value for parameter in _parameters(constructor)}
    return any(
        root in given
        for inner in own(constructor.body)
        if isinstance(inner, (cst.Assign, cst.AnnAssign)) and inner.value is not None and name in targets(inner)
        for root in _kept(inner.value)
    )


def _kept(value: cst.BaseExpression) -> Iterator[str]:
    """Yield the variables of which a value is one, or a part: `net` of `DataParallel(net.to(device))`."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, (cst.Name, cst.Attribute)):
            yield (dotted(value) or "").partition(".")[0]
        elif isinstance(value, cst.IfExp):
            waiting += [value.body, value.orelse]
        elif isinstance(value, cst.BooleanOperation):
            waiting += [value.left, value.right]
        elif isinstance(value, cst.Tuple):
            waiting += [element.value for element in value.elements]
        elif isinstance(value, cst.Call) and last_name(value) in _SETS_UP and isinstance(value.func, cst.Attribute):
            waiting.append(value.func.value)
        elif isinstance(value, cst.Call) and last_name(value) in _WRAPS and value.args:
            waiting.append(value.args[0].value)


_WRAPS = frozenset({"DataParallel", "DistributedDataParallel", "compile"})
"""What gives back a model around the one that it is given."""


def _computes_losses(document: Document, statement: Statement) -> bool:
    """Tell whether the class around a statement computes losses for its owner, who trains by them."""
    owner = document.enclosing(statement, cst.ClassDef)
    return owner is not None and any(map(_LOSS.search, words(owner)))


def _bodies_around(document: Document, scope: cst.FunctionDef, name: str) -> Iterator[list[cst.CSTNode]]:
    """Yield what the functions around `scope` and the module consist of, up to the function that is given `name`."""
    for around in (scope, *document.ancestors(scope)):
        if isinstance(around, cst.FunctionDef):
            if any(parameter.name.value == name for parameter in _parameters(around)):
                return
        if around is not scope and isinstance(around, (cst.FunctionDef, cst.Module)) and not _trains(around):
            yield list(around.body.body if isinstance(around, cst.FunctionDef) else around.body)


def _parameters(function: cst.FunctionDef) -> list[cst.Param]:
    return [*function.params.posonly_params, *function.params.params, *function.params.kwonly_params]


def _touched(statement: cst.CSTNode, name: str) -> str | None:
    """Return `name`, or the part of it before a dot, if `statement` makes, loads, moves or trains it."""
    prefixes = [name]
    while "." in prefixes[-1]:
        prefixes.append(prefixes[-1].rpartition(".")[0])
    if prefixes[-1] in ("self", "cls") and len(prefixes) > 1:
        prefixes.pop()
    made = set(_made(statement))
    return next((prefix for prefix in prefixes if prefix in made), None)


def _made(statement: cst.CSTNode) -> Iterator[str]:
    if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
        return  # what it makes is its own
    for inner in own(statement):
        if isinstance(inner, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            continue
        yield from targets(inner)
        if isinstance(inner, cst.Call):
            called = last_name(inner)
            if isinstance(inner.func, cst.Attribute) and (
                called in _SETS_UP or called == "train" or called.startswith("load")
            ):
                yield dotted(inner.func.value) or ""
            if "load" in called:
                yield from (dotted(arg.value) or "" for arg in inner.args)


def _switches(statement: cst.CSTNode, name: str) -> bool:
    """Tell whether `statement` puts a model into training mode: what comes next trains it."""
    return any(isinstance(inner, cst.Call) and last_name(inner) == "train" for inner in own(statement))


def _is_mentioned(scope: cst.CSTNode, owner: str) -> bool:
    """Tell whether `owner.eval` stands there as a statement, without its parentheses."""
    body = scope.body if isinstance(scope, cst.FunctionDef) else scope
    return any(isinstance(inner, cst.Expr) and dotted(inner.value) == f"{owner}.eval" for inner in own(body))


def _trains(*nodes: cst.CSTNode) -> bool:
    return bool(words(*nodes) & TRAINING)
