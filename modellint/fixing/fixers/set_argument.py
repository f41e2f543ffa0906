"""Set an argument of the call that the finding marks: `torch.load(path)` gets `weights_only=True`."""

from __future__ import annotations

import re

import libcst as cst

from modellint.catalog import Rule
from modellint.diagnostic import Diagnostic
from modellint.fixing.arguments import argument, has_stars, with_argument
from modellint.fixing.document import Change, Document
from modellint.fixing.names import own, targets, words

_HELD_OUT = re.compile(r"test|val|eval|dev|pred|infer|h[oe]ld_?out", re.I)


def fix(document: Document, finding: Diagnostic, rule: Rule) -> Change | None:
    """Set the argument `argument` to the expression `value`, both options of the fixer.

    With the option `position` (0-based) a class may have been given it without its name; of a function of the project,
    which hands it on, only what is written by its name is set. With `held-out-only` there is no fix for a call that
    seems to serve training, too: one in a loop, one whose value is decided elsewhere, or one that is returned and that
    nothing names for evaluation.
    """
    assert rule.fix is not None
    options = rule.fix.options
    call = document.at(finding.span, cst.Call)
    name, position = options["argument"], options.get("position")
    if call is None or (has_stars(call) and argument(call, name) is None):
        return None
    called = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    if position is not None and not (isinstance(called, cst.Name) and called.value[:1].isupper()):
        position = None
        if argument(call, name) is None:
            return None
    if options.get("held-out-only"):
        given = argument(call, name, position)
        if (given is not None and not _is_literal(given.value)) or _may_serve_training(document, call):
            return None
    value = cst.parse_expression(str(options["value"]))
    fresh = with_argument(call, name, value, position)
    return Change(document.replaced(call, fresh), f"Set `{name}={options['value']}`", safe=True)


def _is_literal(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Integer) or (isinstance(value, cst.Name) and value.value in ("True", "False"))


def _may_serve_training(document: Document, call: cst.Call) -> bool:
    scope = document.scope(call)
    returned = False
    kept: set[str] = set()
    for parent in document.ancestors(call):
        if parent is scope:
            break
        if isinstance(parent, (cst.For, cst.While, cst.BaseComp)):
            return True
        returned = returned or isinstance(parent, cst.Return)
        kept.update(targets(parent))
    if isinstance(scope, cst.FunctionDef):
        returns = (inner for inner in own(scope.body) if isinstance(inner, cst.Return))
        returned = returned or not kept.isdisjoint(words(*returns))
    name = scope.name.value if isinstance(scope, cst.FunctionDef) else ""
    return returned and not any(_HELD_OUT.search(word) for word in {name, *kept, *words(call)})
