"""Functions and methods that are given to somebody out of sight, who calls them."""

from __future__ import annotations

import ast
import re

from modellint.static.guards import own, walk_own
from modellint.static.project import FunctionInfo, Project
from modellint.static.project.facts import parameters
from modellint.static.project.names import last_name


def is_handed_over(root: FunctionInfo, project: Project) -> bool:
    """Tell whether a method is given by its class, or a function by its file, to somebody out of sight who calls it.

    `run_stage(self.valid)`; a table of functions.
    """
    if root.is_body or (root.parent is not None and not root.parent.is_body):
        return False
    if root.cls is None:
        return any(_gives_away(scope, root, project) for scope in (root.module.body, *root.module.functions))
    family = project.ancestry(root.cls)[0]
    if any(_gives_away(method, root, project) for cls in family for method in cls.methods.values()):
        return True
    scopes = (root.module.body, *root.module.functions)
    return any(_is_argument(scope, root.name) for scope in scopes) and not any(
        _holds_data(scope, root.name) for scope in scopes
    )


def _holds_data(scope: FunctionInfo, name: str) -> bool:
    """Tell whether an attribute of that name is measured or taken from, which nobody does with a method."""
    measured = [argument for call in scope.calls_of("len") for argument in call.args]
    taken_from = [node.value for node in own(scope, ast.Subscript)]
    return any(isinstance(held, ast.Attribute) and held.attr == name for held in measured + taken_from)


def _is_argument(scope: FunctionInfo, name: str) -> bool:
    """Tell whether a call in `scope` is given some object's method of that name: `run(loader, self.labeler.label)`."""
    values = (value for call in scope.calls for value in (*call.args, *(keyword.value for keyword in call.keywords)))
    return any(isinstance(value, ast.Attribute) and value.attr == name for value in values)


_STARTERS = re.compile(
    r"^(gradio|streamlit|fastapi|flask|starlette|multiprocessing|threading|concurrent|absl|fire|typer|torch_xla|optuna|hyperopt|ray)\.|"
    r"^torch\.(multiprocessing|distributed\.(launcher|run|elastic))\."
)
"""What calls a function for each request, in each process or for each trial, and knows nothing of gradients."""
_STARTS = frozenset({"launch", "notebook_launcher", "spawn", "start_processes"})
"""Methods of anything, and functions, that start what they are given: `fabric.launch(main)`."""


def _gives_away(scope: FunctionInfo, function: FunctionInfo, project: Project) -> bool:
    """Tell whether `scope` names `function` without calling it, for others than those who only start it."""
    if function.cls is None and _is_variable(scope, function.name):
        return False
    called = {id(call.func) for call in scope.calls}
    for call in scope.calls:
        symbol = project.resolve_in(scope, call.func) if call.args or call.keywords else None
        known = symbol is not None and _STARTERS.match(symbol.dotted) is not None
        if known or last_name(call.func) in _STARTS:
            called.update(id(value) for value in (*call.args, *(keyword.value for keyword in call.keywords)))
    for node in walk_own(scope):
        if function.cls is None:
            named = isinstance(node, ast.Name) and node.id == function.name
        else:
            named = isinstance(node, ast.Attribute) and node.attr == function.name and _is_self(node.value, scope)
        if named and id(node) not in called and isinstance(getattr(node, "ctx", None), ast.Load):
            return True
    return False


def _is_variable(scope: FunctionInfo, name: str) -> bool:
    """Tell whether `name` is a variable of a function, or of one around it: `train=True` hides `def train` there."""
    if scope.is_body:
        return False
    own = scope.assigns(name) or any(argument.arg == name for argument, _ in parameters(scope))
    return own or (scope.parent is not None and _is_variable(scope.parent, name))


def _is_self(node: ast.expr, scope: FunctionInfo) -> bool:
    return isinstance(node, ast.Name) and node.id == scope.self_name
