"""Switch autograd off around a forward: a decorator where the whole function is inference, else a `with` block."""

from __future__ import annotations

import re

import libcst as cst

from modellint.catalog import Rule
from modellint.diagnostic import Diagnostic
from modellint.fixing.blocks import rest_of_block, with_block
from modellint.fixing.classes import is_in_model
from modellint.fixing.document import Change, Document, Replacement, Statement
from modellint.fixing.names import GRADIENTS, TRAINING, holds, own, spelled, words

_DIFFERENTIATES = re.compile(r"adv(ersar|_|$)|attack|perturb|pgd|fgsm|captum|attribut|salien|grad_?cam", re.I)
"""Names of what computes gradients with respect to an input, out of sight."""
_NO_DECORATION = frozenset({"jit", "script", "property", "setter", "overload", "fixture"})


def fix(document: Document, finding: Diagnostic, rule: Rule) -> Change | None:
    """Take the smaller of both diffs: a decorator is one row."""
    node = document.at(finding.span, cst.BaseExpression)
    if node is None or is_in_model(document, node):
        return None
    function = document.scope(node)
    manager = spelled(document, "torch.no_grad", node)
    if isinstance(function, cst.FunctionDef) and _is_inference(function):
        decorator = cst.Decorator(cst.parse_expression(f"{manager.text}()"))

        def decorate(updated: cst.CSTNode) -> Replacement:
            assert isinstance(updated, cst.FunctionDef)
            return updated.with_changes(decorators=[*updated.decorators, decorator])

        module = document.rewritten({**manager.rewrites, function: decorate})
        return Change(module, f"Decorate `{function.name.value}` with `@{manager.text}()`")
    inside = _statements(document, node)
    if not inside or words(*inside) & (TRAINING | GRADIENTS) or any(holds(s, cst.Yield) for s in inside):
        return None
    wrapped = with_block(document, cst.parse_expression(f"{manager.text}()"), inside, also=manager.rewrites)
    return Change(wrapped, f"Wrap it in `with {manager.text}():`") if wrapped is not None else None


def _is_inference(function: cst.FunctionDef) -> bool:
    """Tell whether nothing in `function` wants a gradient, and a decorator reaches all of it when it runs."""
    if function.asynchronous is not None or holds(function.body, cst.Yield):
        return False
    if function.name.value.startswith(("forward", "__")) or words(*function.decorators) & _NO_DECORATION:
        return False
    names = words(function)
    return not names & (TRAINING | GRADIENTS | {"train"}) and not any(map(_DIFFERENTIATES.search, names))


def _statements(document: Document, node: cst.BaseExpression) -> list[Statement]:
    """Return the statements from that of `node` to the last one that runs the same model in this scope.

    They stand in one block; where one would have to leave it, or something else is run between, only the first.
    """
    around = list(document.statements(node))
    if not around or not isinstance(node, cst.Call):
        return around[:1]
    scope = document.scope(node)
    code = document.module.code_for_node(node.func)
    later = [
        inner
        for inner in own(scope.body if isinstance(scope, cst.FunctionDef) else scope)
        if isinstance(inner, cst.Call) and document.module.code_for_node(inner.func) == code
        if document.span(inner).start >= document.span(node).start
    ]
    for statement in around:
        block = [statement, *rest_of_block(document, statement)]
        holding = [[n for n, s in enumerate(block) if s in set(document.ancestors(inner))] for inner in later]
        if all(holding):
            chosen = block[: 1 + max(max(numbers) for numbers in holding)]
            defines = (cst.Import, cst.ImportFrom, cst.FunctionDef, cst.ClassDef)
            running = {number for numbers in holding for number in numbers}
            between = [inner for number, inner in enumerate(chosen) if number not in running]
            apart = any(holds(inner, cst.Call) for inner in between) or any(holds(inner, *defines) for inner in chosen)
            return around[:1] if apart else chosen
    return around[:1]
