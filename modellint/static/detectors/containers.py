"""Plain containers that modules may be kept in: how they are made, and what they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modellint.static.context import FileContext
from modellint.static.guards import own, values_of, walk_own
from modellint.static.naming import MOVES
from modellint.static.narrowing import attribute_of
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.names import last_name

PLAIN = frozenset({"list", "tuple", "dict", "OrderedDict", "SimpleNamespace", "Namespace", "deque"})
"""The last names of what makes plain containers."""


def sets_elsewhere(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether this is `setattr` on something else than `self`: a configuration is filled so."""
    mine = bool(call.args) and isinstance(call.args[0], ast.Name) and call.args[0].id == method.self_name
    return last_name(call) == "setattr" and not mine


def hides_on_purpose(item: ast.expr) -> bool:
    """Tell whether the only element of a list is a module of somebody else, or frozen: `[teacher]`, `[net.eval()]`."""
    if isinstance(item, (ast.Name, ast.Attribute)):
        return True
    return (
        isinstance(item, ast.Call)
        and isinstance(item.func, ast.Attribute)
        and item.func.attr in ("eval", "requires_grad_")
    )


def is_plain_local(method: FunctionInfo, name: str) -> bool:
    """Tell whether a local variable is a plain container, and no ModuleList that only grows like one."""
    return all(isinstance(value, ast.BinOp) or is_container(value) for value in values_of(method, name))


def is_container(value: ast.expr) -> bool:
    """Tell whether an expression makes a plain container."""
    displays = (ast.List, ast.Dict, ast.Tuple, ast.Set, ast.ListComp, ast.DictComp)
    return isinstance(value, displays) or (isinstance(value, ast.Call) and last_name(value) in PLAIN)


def is_record(context: FileContext, method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a call makes a data class or a named tuple of the project: torch does not look into these."""
    symbol = context.project.resolve_in(method, call.func)
    if symbol is not None and isinstance(symbol.target, ClassInfo):
        return bool(symbol.target.fields) and not context.classes.is_module(symbol.target)
    made = values_of(method.module.body, call.func.id) if isinstance(call.func, ast.Name) else []
    return any(isinstance(value, ast.Call) and last_name(value) == "namedtuple" for value in made)


def targets_of(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    """Return what an assignment stores to."""
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def kept_in_attributes(method: FunctionInfo, me: str) -> set[str]:
    """Return the local variables that are attributes of `self` as well: torch sees what they hold."""
    return {
        node.value.id
        for node in walk_own(method)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)
        if any(attribute_of(target, me) is not None for target in node.targets)
    }


def elements(value: ast.expr) -> list[ast.expr] | None:
    """Return the elements that a display shows, None for anything else."""
    if isinstance(value, (ast.List, ast.Tuple, ast.Set)):
        return list(value.elts)
    return list(value.values) if isinstance(value, ast.Dict) else None


def moved_by_hand(method: FunctionInfo) -> Iterator[str]:
    """Yield the containers whose elements `method` moves to where the input is: `self.x[0] = self.x[0].to(device)`."""
    for node in own(method, ast.Assign):
        target, call = node.targets[0], node.value
        if isinstance(target, ast.Subscript) and isinstance(call, ast.Call) and last_name(call) in MOVES:
            if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == ast.unparse(target):
                yield ast.unparse(target.value)


def poured_over(method: FunctionInfo, taken: set[str]) -> Iterator[str]:
    """Yield the containers each of whose elements `method` puts into one of `taken`: `for x in xs: ys.append(x)`."""
    for loop in own(method, ast.For):
        for statement in loop.body:  # not where a condition may skip some
            call = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                if ast.unparse(call.func.value) in taken:
                    yield from _run_over(loop, call.args)


def _run_over(loop: ast.For, given: list[ast.expr]) -> Iterator[str]:
    """Yield the container that a loop takes one of `given` from; `zip` goes through several side by side."""
    pairs = [(loop.target, loop.iter)]
    if isinstance(loop.target, ast.Tuple) and isinstance(loop.iter, ast.Call):
        pairs = list(zip(loop.target.elts, loop.iter.args, strict=False))
    names = {node.id for node in given if isinstance(node, ast.Name)}
    for target, source in pairs:
        if isinstance(target, ast.Name) and target.id in names:
            yield ast.unparse(source)
