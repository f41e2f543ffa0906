"""Names in a file: how `torch.nn` is spelled there, what is assigned and called, which words a piece of code holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst
import libcst.matchers as m
from libcst.helpers import get_full_name_for_node

from modellint.fixing.document import Document, Rewrite, before

TRAINING = frozenset({"backward", "zero_grad", "step", "manual_backward", "training_step"})
GRADIENTS = frozenset(
    {"grad", "autograd", "enable_grad", "requires_grad", "requires_grad_", "create_graph", "jacobian"}
)


@dataclass(frozen=True, slots=True)
class Spelled:
    """How a qualified name is written at a place, and the rewrites that import it where that is still to be done."""

    text: str
    rewrites: dict[cst.CSTNode, Rewrite] = field(default_factory=dict)


def dotted(node: cst.CSTNode) -> str | None:
    """Return `a.b.c` for names and attributes of names, else None."""
    if isinstance(node, (cst.Name, cst.Attribute)):
        inner: cst.BaseExpression = node
        while isinstance(inner, cst.Attribute):
            inner = inner.value
        if isinstance(inner, cst.Name):
            return get_full_name_for_node(node)
    return None


def last_name(node: cst.CSTNode) -> str:
    """Return `c` for `a.b.c`, `a().c`, `c` and calls of these, else an empty text."""
    if isinstance(node, cst.Call):
        node = node.func
    if isinstance(node, cst.Attribute):
        node = node.attr
    return node.value if isinstance(node, cst.Name) else ""


def words(*nodes: cst.CSTNode) -> set[str]:
    """Return all identifiers in `nodes`."""
    found = (name for node in nodes for name in m.findall(node, m.Name()))
    return {name.value for name in found if isinstance(name, cst.Name)}


def holds(node: cst.CSTNode, *kinds: type[cst.CSTNode]) -> bool:
    """Tell whether one of `kinds` stands in `node`, the bodies of inner functions and classes left out."""
    return any(isinstance(inner, kinds) for inner in own(node))


def own(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield `node` and all below it, without going into functions, lambdas and classes inside."""
    yield node
    for child in node.children:
        if isinstance(child, (cst.FunctionDef, cst.Lambda, cst.ClassDef)):
            yield child
        else:
            yield from own(child)


def targets(statement: cst.CSTNode) -> Iterator[str]:
    """Yield the dotted names that an assignment, of any form, gives a value to."""
    found: list[cst.BaseExpression] = []
    if isinstance(statement, cst.Assign):
        found = [target.target for target in statement.targets]
    elif isinstance(statement, (cst.AnnAssign, cst.NamedExpr)):
        found = [statement.target]
    while found:
        target = found.pop()
        if isinstance(target, (cst.Tuple, cst.List)):
            found += [element.value for element in target.elements]
        elif (name := dotted(target)) is not None:
            yield name


def spelled(document: Document, name: str, place: cst.CSTNode) -> Spelled:
    """Return how the qualified `name` (such as `torch.no_grad`) is written at `place`; `import torch` where it must."""
    around = set(document.ancestors(place))
    known: dict[str, str] = {}  # qualified prefix -> what stands for it
    for found in m.findall(document.module, m.Import() | m.ImportFrom()):
        assert isinstance(found, (cst.Import, cst.ImportFrom))
        scope = document.scope(found)
        if scope is document.module or document.block(document.parent(found)) in around:
            known.update({qualified: local for local, qualified in _imported(found)})
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        local = known.get(".".join(parts[:length]))
        if local is not None:
            return Spelled(".".join([local, *parts[length:]]))
    statement = document.parse(f"import {parts[0]}\n")
    return Spelled(name, {_import_place(document, place): before(statement)})


def _imported(node: cst.Import | cst.ImportFrom) -> Iterator[tuple[str, str]]:
    """Yield (local name, qualified name) of what an import binds."""
    if isinstance(node.names, cst.ImportStar):
        return
    package = ""
    if isinstance(node, cst.ImportFrom):
        if node.module is None or node.relative:
            return
        package = f"{get_full_name_for_node(node.module)}."
    for alias in node.names:
        name = get_full_name_for_node(alias.name) or ""
        if alias.asname is not None:
            yield str(get_full_name_for_node(alias.asname.name)), package + name
        elif package:
            yield name, package + name
        else:
            yield name.split(".")[0], name.split(".")[0]


def _import_place(document: Document, place: cst.CSTNode) -> cst.CSTNode:
    """Return the statement before which a new import goes: the first import; in a notebook, the cell's first one."""
    body = list(document.module.body)
    if (cell := document.cell(place)) is not None:
        return next(statement for statement in body if document.cell(statement) == cell)
    for number, statement in enumerate(body):
        if m.matches(statement, m.SimpleStatementLine(body=[m.Import() | m.ImportFrom(), m.ZeroOrMore()])):
            if not m.matches(statement, m.SimpleStatementLine([m.ImportFrom(module=m.Name("__future__"))])):
                return statement
        elif number or not m.matches(statement, m.SimpleStatementLine([m.Expr(m.SimpleString())])):
            return statement
    return body[-1]
