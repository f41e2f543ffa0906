"""What the text around a variable says that it holds: questions that were asked, and loops that bind it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modellint.static.project import FunctionInfo
from modellint.static.project.names import last_name, names_in

MODULE = frozenset({"nn.Module", "torch.nn.Module", "Module"})
"""How the class of all modules is written."""
_ASKS = frozenset({"isinstance", "type"})


def asked_for_modules(method: FunctionInfo) -> Iterator[ast.Name]:
    """Yield the uses of variables that were asked whether they are modules: below an `if`, or behind a way out."""
    for block in _blocks(method.body) if not _ASKS.isdisjoint(method.callees) else ():
        for place, statement in enumerate(block):
            if isinstance(statement, ast.If):
                test, holds = _without_not(statement.test)
                if holds:
                    yield from _uses(asked_for_module(test), statement.body)
                elif statement.orelse:
                    yield from _uses(asked_for_module(test), statement.orelse)
                elif isinstance(statement.body[-1], (ast.Raise, ast.Continue, ast.Return, ast.Break)):
                    yield from _uses(asked_for_module(test), block[place + 1 :])
            elif isinstance(statement, ast.Assert):
                yield from _uses(asked_for_module(statement.test), block[place + 1 :])


def _blocks(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    yield body
    for statement in body:
        for name in ("body", "orelse", "finalbody"):
            yield from _blocks(getattr(statement, name, []))


def _without_not(test: ast.expr) -> tuple[ast.expr, bool]:
    negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    return (test.operand, False) if isinstance(test, ast.UnaryOp) and negated else (test, True)


def asked_for_module(test: ast.expr) -> str | None:
    """Return the variable that `isinstance(variable, nn.Module)`, or `type(variable) is nn.Module`, asks for."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Is, ast.Eq)) and len(test.ops) == 1:
        asked = test.left.args if isinstance(test.left, ast.Call) and last_name(test.left) == "type" else []
        named = ast.unparse(test.comparators[0]) in MODULE
        return asked[0].id if named and len(asked) == 1 and isinstance(asked[0], ast.Name) else None
    if not isinstance(test, ast.Call) or last_name(test) != "isinstance" or len(test.args) != 2:
        return None
    variable = test.args[0]
    return variable.id if isinstance(variable, ast.Name) and ast.unparse(test.args[1]) in MODULE else None


def _uses(name: str | None, body: list[ast.stmt]) -> Iterator[ast.Name]:
    for statement in body if name is not None else ():
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id == name:
                yield node


def attribute_of(node: ast.expr, me: str) -> str | None:
    """Return `a` for `self.a`, where `me` is the name of `self`; None for anything else."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == me:
        return node.attr
    return None


def bound_to(attribute: str, me: str, over: ast.expr, target: ast.expr) -> set[str]:
    """Return the variables of a loop that get the elements of `self.attribute`, where it may run beside others."""
    name = last_name(over) if isinstance(over, ast.Call) and isinstance(target, ast.Tuple) else None
    if name in ("zip", "enumerate"):
        assert isinstance(over, ast.Call) and isinstance(target, ast.Tuple)
        beside = over.args if name == "zip" else [over.func, *over.args]  # `enumerate` puts a number first
        pairs = zip(beside, target.elts, strict=False)
        return {name for given, bound in pairs for name in bound_to(attribute, me, given, bound)}
    if not any(isinstance(node, ast.expr) and attribute_of(node, me) == attribute for node in ast.walk(over)):
        return set()
    return names_in(target)
