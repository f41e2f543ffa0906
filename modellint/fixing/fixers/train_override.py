"""Make an override of `train` do its part: take `mode`, pass it on, return self."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import libcst as cst

from modellint.catalog import Rule
from modellint.diagnostic import Diagnostic
from modellint.fixing.classes import self_of
from modellint.fixing.document import Change, Document, Replacement, Rewrite
from modellint.fixing.names import TRAINING, dotted, last_name, own, words


def fix(document: Document, finding: Diagnostic, rule: Rule) -> Change | None:
    """Repair the `def` that the finding marks; a method that trains is another thing by the same name."""
    method = document.starting(finding.span.start, cst.FunctionDef)
    me = self_of(method) if method is not None else None
    if method is None or me is None or not isinstance(method.body, cst.IndentedBlock):
        return None
    is_eval = method.name.value == "eval"  # which has only to return self
    if method.name.value != "train" and not is_eval:
        return None
    if words(method.body) & TRAINING or method.params.kwonly_params or isinstance(method.params.star_arg, cst.Param):
        return None
    given = [*method.params.posonly_params, *method.params.params][1:]
    if not is_eval and len([parameter for parameter in given if parameter.default is None]) > 1:
        return None
    mode = given[0].name.value if given else "mode"
    rewrites: dict[cst.CSTNode, Rewrite] = {}
    done: list[str] = []
    if not given and not is_eval:
        rewrites[method.params] = _with_mode
        done.append("take `mode`")
    passing, inserted = (
        ({}, not _is_torchs(method, me)) if is_eval else _passes_on(document, method, me, mode, added=not given)
    )
    if is_eval and inserted:
        done.append("call super().eval()")
    elif passing or inserted:
        done.append("pass it on" if not given else f"pass `{mode}` on")
    uncalled = [inner.value for inner in own(method.body) if _is_of_super_itself(inner)]
    if uncalled:
        done.append("call super()")
        rewrites |= {name: lambda _: cst.Call(cst.Name("super")) for name in uncalled}
    returns = [inner for inner in own(method.body) if isinstance(inner, cst.Return)]
    closing = not any(inner.value is not None for inner in returns)
    if closing:
        done.append("return self")
        if method.returns is not None and dotted(method.returns.annotation) == "None":
            rewrites[method] = lambda node: node.with_changes(returns=None)
        given_back = cst.Return(cst.Name(me))
        rewrites |= {inner: lambda _: given_back for inner in returns}
    if not done:
        return None
    call = "super().eval()" if is_eval else f"super().train({mode})"
    first = document.parse(f"{call}\n") if inserted else None
    last = document.parse(f"return {me}\n") if closing and not _ends(method.body.body) else None

    def rewrite_body(node: cst.CSTNode) -> Replacement:
        assert isinstance(node, cst.IndentedBlock)
        body = list(node.body)
        if first is not None:
            body.insert(1 if method.get_docstring() is not None else 0, first)
        return node.with_changes(body=[*body, last] if last is not None else body)

    rewrites |= passing
    rewrites[method.body] = rewrite_body
    # without `mode`, eval() could only raise; with it, what eval() does changes
    safe = not inserted and (not given or not passing)
    sentence = ", ".join(done)
    return Change(document.rewritten(rewrites), f"{sentence[:1].upper()}{sentence[1:]}", safe=safe)


def _is_of_super_itself(node: cst.CSTNode) -> TypeGuard[cst.Attribute]:
    """Tell whether this is `super.train`, an attribute of the builtin class, which has none of that name."""
    return isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == "super"


def _is_torchs(method: cst.FunctionDef, me: str) -> bool:
    """Tell whether an `eval` calls torch's: that of `super()`, or of a base, or `self.train(False)`."""
    for inner in own(method.body):
        if isinstance(inner, cst.Call) and isinstance(inner.func, cst.Attribute):
            owner = inner.func.value
            if inner.func.attr.value in ("eval", "train") and last_name(owner) == "super":
                return True
            if inner.func.attr.value == "train" and dotted(owner) == me:
                return True
            if inner.func.attr.value == "eval" and any(dotted(arg.value) == me for arg in inner.args):
                return True
    return False


def _with_mode(node: cst.CSTNode) -> Replacement:
    assert isinstance(node, cst.Parameters)
    fresh = cst.Param(
        cst.Name("mode"),
        annotation=cst.Annotation(cst.Name("bool")),
        default=cst.Name("True"),
        equal=cst.AssignEqual(),
    )
    return node.with_changes(params=[*node.params, fresh])


def _passes_on(
    document: Document, method: cst.FunctionDef, me: str, mode: str, *, added: bool
) -> tuple[dict[cst.CSTNode, Rewrite], bool]:
    """Return the rewrites of calls of `train` that are to get the mode, and whether one has to be inserted."""
    rewrites: dict[cst.CSTNode, Rewrite] = {}
    stores = to_base = False
    for inner in own(method.body):
        if isinstance(inner, cst.AssignTarget) and dotted(inner.target) == f"{me}.training":
            stores = True
        if not isinstance(inner, cst.Call) or last_name(inner) != "train" or not isinstance(inner.func, cst.Attribute):
            continue
        mine = [arg for arg in inner.args if dotted(arg.value) == me]
        others = [arg for arg in inner.args if arg not in mine]
        through_super = last_name(inner.func.value) == "super"
        is_base = bool(mine) or through_super
        to_base = to_base or is_base
        if through_super and mine:  # it has its object already
            args = others or [cst.Arg(cst.Name(mode))]
            rewrites[inner] = lambda node, args=args: node.with_changes(args=args)  # type: ignore[misc]
            continue
        literal = len(others) == 1 and dotted(others[0].value) == "True"
        if (not others or literal) and (is_base or added) and not _is_asked(document, inner, mode):
            args = [*mine, cst.Arg(cst.Name(mode))]
            rewrites[inner] = lambda node, args=args: node.with_changes(args=args)  # type: ignore[misc]
        elif others and not is_base:
            stores = True
    return rewrites, not to_base and not stores


def _is_asked(document: Document, node: cst.CSTNode, mode: str) -> bool:
    """Tell whether `node` stands under a condition on the mode."""
    return any(isinstance(p, cst.If) and mode in words(p.test) for p in document.ancestors(node))


def _ends(body: Sequence[cst.BaseStatement]) -> bool:
    last = body[-1]
    return isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], (cst.Return, cst.Raise))
