"""Build a module once: `nn.Dropout(0.5)(x)` in forward becomes `self.dropout(x)`, and `__init__` makes it."""

from __future__ import annotations

import re
from itertools import takewhile

import libcst as cst
import libcst.matchers as m

from modellint.catalog import Rule
from modellint.diagnostic import Diagnostic
from modellint.fixing.classes import constructing, constructor, methods, owner_of, parameters, self_of, stored, taken
from modellint.fixing.document import Change, Document
from modellint.fixing.names import dotted, last_name, own, targets, words


def fix(document: Document, finding: Diagnostic, rule: Rule) -> Change | None:
    """Hoist the constructor call that the finding marks, where `__init__` knows all that it is given."""
    call = document.at(finding.span, cst.Call)
    method = document.scope(call) if call is not None else None
    owner = owner_of(document, method) if isinstance(method, cst.FunctionDef) else None
    if call is None or owner is None or not isinstance(method, cst.FunctionDef):
        return None
    me = self_of(method)
    if me is None or not _known_at_construction(call, method, owner, me) or _is_repeated(document, call, method):
        return None
    if _runs_while_constructed(owner, method):
        return None
    name = _attribute(document, call, method, owner)
    rewrites = constructing(document, owner, name, call.deep_clone())
    if not rewrites:
        return None
    use = cst.Attribute(cst.Name(me), cst.Name(name))
    rewrites[call] = lambda _: use
    return Change(document.rewritten(rewrites), f"Build it in `__init__` as `{me}.{name}`")


def _known_at_construction(call: cst.Call, method: cst.FunctionDef, owner: cst.ClassDef, me: str) -> bool:
    """Tell whether the arguments are the same whenever and with whatever the method is called."""
    local = {parameter.name.value for parameter in parameters(method)} - {me}
    for star in (method.params.star_arg, method.params.star_kwarg):
        if isinstance(star, cst.Param):
            local.add(star.name.value)
    for inner in own(method.body):
        local.update(targets(inner))
        if isinstance(inner, (cst.For, cst.CompFor)):
            local |= words(inner.target)
        elif isinstance(inner, cst.AsName):
            local |= words(inner.name)
    made = constructor(owner)
    kept = stored(made.body, self_of(made) or me) if made is not None else set()
    for arg in call.args:
        used = m.findall(arg.value, m.Attribute(value=m.Name(me)))
        attributes = {inner.attr.value for inner in used if isinstance(inner, cst.Attribute)}
        names = {inner.value for inner in own(arg.value) if isinstance(inner, cst.Name)}
        if names & local or not attributes <= kept or (me in names and not attributes):
            return False
    return True


def _runs_while_constructed(owner: cst.ClassDef, method: cst.FunctionDef) -> bool:
    """Tell whether `__init__` leads to `method`, which would miss what is built at its end."""
    by_name = {inner.name.value: inner for inner in methods(owner)}
    reached = ["__init__"]
    for name in reached:
        caller = by_name.get(name)
        me = self_of(caller) if caller is not None else None
        for call in m.findall(caller.body, m.Call()) if caller is not None and me is not None else ():
            assert isinstance(call, cst.Call) and me is not None
            called = "forward" if dotted(call.func) == me else _method(call.func, me)
            if called in by_name and called not in reached:
                reached.append(called)
    return method.name.value in reached


def _method(func: cst.BaseExpression, me: str) -> str | None:
    """Return `a` for `self.a`."""
    owner, _, name = (dotted(func) or "").rpartition(".")
    return name if owner == me else None


def _is_repeated(document: Document, call: cst.Call, method: cst.FunctionDef) -> bool:
    """Tell whether a loop builds several of them, which would become one and the same."""
    if "Dropout" in last_name(call):
        return False
    loops = (cst.For, cst.While, cst.BaseComp)
    inside = takewhile(lambda parent: parent is not method, document.ancestors(call))
    return any(isinstance(parent, loops) for parent in inside)


def _attribute(document: Document, call: cst.Call, method: cst.FunctionDef, owner: cst.ClassDef) -> str:
    """Return a free name: that of the variable it is assigned to, or its class's, with a number for further ones."""
    parent = document.parent(call)
    variable = ""
    if isinstance(parent, cst.Assign) and len(parent.targets) == 1:
        variable = dotted(parent.targets[0].target) or ""
    base = variable if variable.isidentifier() else _snake(last_name(call))
    earlier = [
        inner
        for inner in own(method.body)
        if isinstance(inner, cst.Call)
        and _snake(last_name(inner)) == base
        and last_name(inner)[:1].isupper()
        and document.span(inner).start < document.span(call).start
    ]
    used = taken(owner)
    number = len(earlier) + 1
    while (name := base if number == 1 else f"{base}_{number}") in used:
        number += 1
    return name


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
