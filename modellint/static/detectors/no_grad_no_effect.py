"""A context manager that switches autograd is made and thrown away, or entered without being made."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modellint.catalog import ActiveRule
from modellint.static.context import FileContext, Finding
from modellint.static.guards import alone
from modellint.static.project import FunctionInfo


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report autograd switches as bare statements, and `with` blocks that name the class instead of calling it."""
    for scope in context.scopes:
        for statement in scope.statements:
            if isinstance(statement, ast.Expr):
                for node in alone(statement):
                    bare = node.func if isinstance(node, ast.Call) else node
                    if isinstance(node, ast.Call) and node.args and not isinstance(node.args[0], ast.Constant):
                        continue  # `torch.no_grad(f)` decorates f
                    if _switches(context, scope, bare) and isinstance(bare, (ast.Attribute, ast.Name)):
                        yield Finding(context.site(node), {"written": ast.unparse(node)})
            else:
                for item in statement.items:
                    node = item.context_expr
                    if isinstance(node, (ast.Attribute, ast.Name)) and _switches(context, scope, node):
                        yield Finding(context.site(node), {"written": f"with {ast.unparse(node)}"})


def _switches(context: FileContext, scope: FunctionInfo, node: ast.expr) -> bool:
    name = context.qualified(scope, node)
    fact = context.knowledge.contexts.get(name) if name else None
    return fact is not None and fact.effect.grad != "same" and not fact.immediate
