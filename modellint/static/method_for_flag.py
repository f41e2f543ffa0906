"""`self.train` where the flag `self.training` is meant: a method, which is always true."""

from __future__ import annotations

import ast
import re

from modellint.static.context import FileContext
from modellint.static.guards import conditions, targets_of, unnegated
from modellint.static.project import FunctionInfo
from modellint.static.project.trees import walk


def is_method_for_flag(context: FileContext, scope: FunctionInfo, node: ast.expr) -> bool:
    """Tell whether `node` is `self.train`, the method of a torch module, and no attribute of that name."""
    if not (isinstance(node, ast.Attribute) and node.attr == "train" and isinstance(node.value, ast.Name)):
        return False
    return node.value.id == scope.self_name and not _may_be_a_flag(context, scope)


def meant_for_training(context: FileContext, scope: FunctionInfo, target: ast.AST) -> bool:
    """Tell whether `target` stands where `self.train` is asked for, and is always true: `if self.train and self.p:`."""
    return any(
        must_hold and is_method_for_flag(context, scope, asked)
        for test, holds in conditions(scope, target)
        for asked, must_hold in _asked(test, holds)
    )


def _asked(test: ast.expr, holds: bool) -> list[tuple[ast.expr, bool]]:
    """Return what has to hold, or must not, that a condition holds, or does not."""
    test, holds = unnegated(test, holds)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is holds:
        return [part for value in test.values for part in _asked(value, holds)]
    return [(test, holds)]


def _may_be_a_flag(context: FileContext, scope: FunctionInfo) -> bool:
    """Tell whether objects may have a `train` of their own, by their class or by what its file assigns, or whether a
    base is out of sight.

    `self.train = train`, `net.train = False`, `train: bool = False` in the body of a class, a property.
    """
    if scope.cls is None or not context.classes.is_module(scope.cls):
        return True
    mine, outside = context.project.ancestry(scope.cls)
    if not all(map(context.classes.is_module_name, outside)):
        return True
    return context.classes.stores(scope.cls, "train") or any(
        _SETS.search(owner.module.text) is not None
        or any(not _BY_NAME.isdisjoint(method.callees) for method in owner.methods.values())
        or ("train" in owner.methods and bool(owner.methods["train"].decorators))
        or any(_declares(node) for node in walk(owner.module.tree) if isinstance(node, ast.ClassDef))
        for owner in mine
    )


_SETS = re.compile(r"(?<!\bself)\.train\s*=(?!=)|\.__dict__\b")
"""How a file gives objects of others a flag called `train`."""

_BY_NAME = frozenset({"setattr", "vars"})


def _declares(node: ast.ClassDef) -> bool:
    """Tell whether a class has a variable called `train`."""
    kept = (statement for statement in node.body if isinstance(statement, (ast.Assign, ast.AnnAssign)))
    return any(ast.unparse(target) == "train" for statement in kept for target in targets_of(statement))
