"""Classes as fixers see them: their methods, what they store in `self`, and a constructor that takes one more thing."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from modellint.fixing.document import Document, Replacement, Rewrite, behind, leading_lines
from modellint.fixing.names import dotted, last_name, own, targets


def owner_of(document: Document, method: cst.CSTNode) -> cst.ClassDef | None:
    """Return the class in whose body the function `method` stands."""
    owner = document.enclosing(method, cst.FunctionDef, cst.ClassDef)
    return owner if isinstance(owner, cst.ClassDef) else None


def methods(owner: cst.ClassDef) -> list[cst.FunctionDef]:
    """Return the functions that stand in the body of a class."""
    return [inner for inner in owner.body.body if isinstance(inner, cst.FunctionDef)]


def constructor(owner: cst.ClassDef) -> cst.FunctionDef | None:
    """Return the `__init__` of a class."""
    return next((method for method in methods(owner) if method.name.value == "__init__"), None)


def is_in_model(document: Document, node: cst.CSTNode) -> bool:
    """Tell whether `node` stands in a method of a class with a forward: training may come that way, too."""
    owner = owner_of(document, document.scope(node))
    return owner is not None and any(method.name.value == "forward" for method in methods(owner))


def parameters(function: cst.FunctionDef) -> list[cst.Param]:
    """Return the parameters of a function that can be given by name or place, `self` included."""
    return [*function.params.posonly_params, *function.params.params, *function.params.kwonly_params]


def self_of(method: cst.FunctionDef) -> str | None:
    """Return the name of the instance in `method`, None in static and class methods."""
    static = {"staticmethod", "classmethod"} & {last_name(d.decorator) for d in method.decorators}
    given = parameters(method)
    return given[0].name.value if given and not static else None


def stored(node: cst.CSTNode, me: str = "self") -> set[str]:
    """Return the attributes of `me` that code stores."""
    found = (name for inner in own(node) for name in targets(inner))
    return {name.split(".")[1] for name in found if name.startswith(f"{me}.")}


def taken(owner: cst.ClassDef) -> set[str]:
    """Return the names that a class uses for attributes and methods."""
    attributes = {inner.attr.value for inner in _all(owner) if isinstance(inner, cst.Attribute)}
    return attributes | {method.name.value for method in methods(owner)}


def _all(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _all(child)


def is_initialised_before(document: Document, method: cst.FunctionDef, node: cst.CSTNode) -> bool:
    """Tell whether `super().__init__()` has run at `node`: before it, a module cannot be stored in `self`."""
    calls = [
        inner
        for inner in own(method.body)
        if isinstance(inner, cst.Call) and isinstance(inner.func, cst.Attribute) and inner.func.attr.value == "__init__"
    ]
    return method.name.value != "__init__" or any(
        document.span(call).start < document.span(node).start for call in calls
    )


def constructing(
    document: Document, owner: cst.ClassDef, name: str, value: cst.BaseExpression
) -> dict[cst.CSTNode, Rewrite]:
    """Return the rewrites that make `__init__` store `value` as `self.name`; none where there is no room for it."""
    method = constructor(owner)
    if method is None:
        return _new_constructor(document, owner, name, value)
    me = self_of(method)
    if me is None or not isinstance(method.body, cst.IndentedBlock):
        return {}
    last: cst.CSTNode | None = None
    initialised = False
    for statement in method.body.body:
        initialises = bool(m.findall(statement, m.Attribute(attr=m.Name("__init__"))))
        initialised = initialised or initialises
        if initialised and (initialises or stored(statement, me)):
            last = statement
    return {last: behind(_assignment(me, name, value))} if last is not None else {}


def _assignment(me: str, name: str, value: cst.BaseExpression) -> cst.SimpleStatementLine:
    target = cst.AssignTarget(cst.Attribute(cst.Name(me), cst.Name(name)))
    return cst.SimpleStatementLine([cst.Assign([target], value)])


def _new_constructor(
    document: Document, owner: cst.ClassDef, name: str, value: cst.BaseExpression
) -> dict[cst.CSTNode, Rewrite]:
    bases = [last_name(base.value) for base in owner.bases]
    first = next(iter(methods(owner)), None)
    if first is None or owner.decorators or not bases:
        return {}
    given = "" if bases == ["Module"] else "*args, **kwargs"
    indent = document.module.default_indent
    comma = ", " if given else ""
    code = document.parse(f"def __init__(self{comma}{given}):\n{indent}super().__init__({given})\n")
    assert isinstance(code, cst.FunctionDef) and isinstance(code.body, cst.IndentedBlock)
    body = code.body.with_changes(body=[*code.body.body, _assignment("self", name, value)])

    def rewrite(node: cst.CSTNode) -> Replacement:
        fresh = code.with_changes(body=body, leading_lines=leading_lines(node))
        return cst.FlattenSentinel([fresh, node.with_changes(leading_lines=[cst.EmptyLine(indent=False)])])

    return {first: rewrite}


def of_attribute(owner: cst.ClassDef, attribute: str) -> Iterator[tuple[cst.FunctionDef, cst.CSTNode]]:
    """Yield every node of the methods that is `self.attribute`, with its method."""
    for method in methods(owner):
        me = self_of(method)
        for inner in _all(method.body):
            if me is not None and isinstance(inner, cst.Attribute) and dotted(inner) == f"{me}.{attribute}":
                yield method, inner
