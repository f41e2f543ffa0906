"""Does a model that a method makes stay in its variables? Then it is no part of the object: it is run and dropped."""

from __future__ import annotations

import ast
import re

from modellint.static.attributes import stored
from modellint.static.guards import own, path_to
from modellint.static.naming import MOVES
from modellint.static.narrowing import attribute_of
from modellint.static.project import FunctionInfo
from modellint.static.project.trees import walk

_TAKES_APART = re.compile(r"children|modules|submodule|^apply$|^add_module$")
_GIVES_ITSELF = MOVES | {"eval", "train", "requires_grad_"}


def stays_in(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a method keeps what `call` makes in variables of its own, and only asks and runs it."""
    if method.name == "__init__":
        return False  # what is taken apart there is a part, whichever way
    names = _bound_to(path_to(method, call))
    nodes = walk(method.node) if method.node is not None and names else ()
    uses = [node for node in nodes if isinstance(node, ast.Name) and node.id in names]
    given_away = [value for _, value in stored(method)]
    given_away += [node.value for node in own(method, ast.Return) if node.value is not None]
    to_itself = (call for call in method.calls if attribute_of(call.func, method.self_name or "") is not None)
    given_away += [argument for call in to_itself for argument in call.args]
    inside = {id(node) for value in given_away for node in walk(value)}
    read = [use for use in uses if isinstance(use.ctx, ast.Load)]
    return bool(read) and all(id(use) not in inside and _only_asks(path_to(method, use), names) for use in read)


def _bound_to(path: list[ast.AST]) -> set[str]:
    """Return the variables to which an assignment binds what stands at the end of a path."""
    holder = _holder(path)
    if not isinstance(holder, ast.Assign) or not all(isinstance(target, ast.Name) for target in holder.targets):
        return set()
    return {target.id for target in holder.targets if isinstance(target, ast.Name)}


def _only_asks(path: list[ast.AST], names: set[str]) -> bool:
    """Tell whether a model at the end of a path is run there, or asked something by a method."""
    holder = _holder(path)
    if isinstance(holder, ast.Attribute):
        return _TAKES_APART.search(holder.attr) is None and any(
            isinstance(node, ast.Call) and node.func is holder for node in path
        )
    runs = isinstance(holder, ast.Call) and any(node is holder.func for node in path)
    bound = _bound_to(path)
    return runs or isinstance(holder, ast.Expr) or (bool(bound) and bound <= names)


def _holder(path: list[ast.AST]) -> ast.AST | None:
    """Return what uses the model at the end of a path, past methods that give it itself: `net.to(device).eval()`."""
    place = len(path) - 2
    while place > 0:
        asked, call = path[place], path[place - 1]
        if not isinstance(asked, ast.Attribute) or asked.attr not in _GIVES_ITSELF:
            break
        if not isinstance(call, ast.Call) or call.func is not asked:
            break
        place -= 2
    return path[place] if place >= 0 else None
