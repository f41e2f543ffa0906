"""Functions and methods that are given to somebody out of sight, who calls them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modellint.static.attributes import stored
from modellint.static.flow.handed import begins_a_thread, function_started, is_readied
from modellint.static.flow.vocabulary import GRAD_SWITCHES
from modellint.static.guards import own, values_entered, walk_own
from modellint.static.narrowing import attribute_of
from modellint.static.project import ClassInfo, FunctionInfo, Project
from modellint.static.project.facts import is_none, parameters
from modellint.static.project.names import arguments_of, last_name, names_in


def is_handed_over(root: FunctionInfo, project: Project) -> bool:
    """Tell whether a method is given by its class, or a function by its file, to somebody out of sight who calls it.

    `run_stage(self.valid)`; a table of functions.
    """
    if root.is_body:
        return False
    if root.parent is not None and not root.parent.is_body:
        return root.cls is None and (_is_given_by(root.parent, root, project) or _is_kept_to_run(root))
    if root.cls is None:
        return any(_gives_away(scope, root, project) for scope in (root.module.body, *root.module.functions))
    family = project.ancestry(root.cls)[0]
    if any(_gives_away(method, root, project) for cls in family for method in cls.methods.values()):
        return True
    scopes = (root.module.body, *root.module.functions)
    return any(_is_argument(scope, root.name, family, project) for scope in scopes) and not any(
        _holds_data(scope, root.name) for scope in scopes
    )


def _is_kept_to_run(inner: FunctionInfo) -> bool:
    """Tell whether a method makes a function for its object, another method of which switches autograd or a mode.

    `self.val_step = self._make_val_step()`: what calls it by that attribute sees to the rest.
    """
    maker = inner.parent
    if maker is None or maker.cls is None or not any(_names(n.value, inner, maker) for n in own(maker, ast.Return)):
        return False
    others = (method for method in maker.cls.methods.values() if method is not maker)
    return any(not _SWITCHES.isdisjoint(method.words) for method in others)


def _holds_data(scope: FunctionInfo, name: str) -> bool:
    """Tell whether an attribute of that name is measured or taken from, which nobody does with a method."""
    measured = [argument for call in scope.calls_of("len") for argument in call.args]
    taken_from = [node.value for node in own(scope, ast.Subscript)]
    return any(isinstance(held, ast.Attribute) and held.attr == name for held in measured + taken_from)


def _is_argument(scope: FunctionInfo, name: str, family: list[ClassInfo], project: Project) -> bool:
    """Tell whether a call in `scope` is given a method of that name: `run(loader, self.labeler.label)`.

    Some object's method, which may be of the `family`, not what a method of the family has of its own object, nor what
    is only run by a thread.
    """
    own_method = scope.cls in family
    given = [
        value
        for call in scope.calls
        for value in arguments_of(call)
        if isinstance(value, ast.Attribute) and value.attr == name and not (own_method and _is_self(value.value, scope))
    ]
    started = {id(value) for call in scope.calls for value in _started(call, scope, project) or ()} if given else set()
    return any(id(value) not in started for value in given)


_STARTERS = re.compile(
    r"^(gradio|streamlit|fastapi|flask|starlette|multiprocessing|threading|concurrent|absl|fire|typer|torch_xla|optuna|hyperopt|ray|"
    r"pyspark|rospy|rclpy)\.|"
    r"^torch\.(multiprocessing|distributed\.(launcher|run|elastic))\."
)
"""What calls a function for each request or message, in each process or for each trial, and knows no gradients."""
_STARTS = frozenset({"launch", "notebook_launcher", "spawn", "start_processes"})
"""Methods of anything, and functions, that start what they are given: `fabric.launch(main)`."""


def _gives_away(scope: FunctionInfo, function: FunctionInfo, project: Project) -> bool:
    """Tell whether `scope` names `function` without calling it, for others than those who only start or wrap it."""
    if function.cls is None and _is_variable(scope, function.name):
        return False
    named = {id(node) for node in walk_own(scope) if _names(node, function, scope)}
    if not named:  # equivalent: only saves the look at the calls
        return False
    for call in scope.calls:
        named.discard(id(call.func))
        named.difference_update(map(id, _known_to_run(call, scope, project)))
    return bool(named)


def _is_given_by(scope: FunctionInfo, inner: FunctionInfo, project: Project) -> bool:
    """Tell whether `scope` gives a function that it defines to a call that may do anything with it."""
    for call in scope.calls:
        given = [value for value in arguments_of(call) if _names(value, inner, scope)]
        known = set(map(id, _known_to_run(call, scope, project))) if given else set()
        if any(id(value) not in known for value in given):
            return True
    return False


def _names(node: ast.AST | None, function: FunctionInfo, scope: FunctionInfo) -> bool:
    """Tell whether a node reads `function` as a value, by its name or as a method of the object at hand."""
    if not isinstance(getattr(node, "ctx", None), ast.Load):
        return False
    if function.cls is None:
        return isinstance(node, ast.Name) and node.id == function.name
    return isinstance(node, ast.Attribute) and node.attr == function.name and _is_self(node.value, scope)


def _known_to_run(call: ast.Call, scope: FunctionInfo, project: Project) -> Iterator[ast.expr]:
    """Yield the arguments of a call that are only run there: started, or called by a function in sight."""
    if (started := _started(call, scope, project)) is not None:
        yield from started
        return
    symbol = project.resolve_in(scope, call.func)
    starts = symbol is not None and _STARTERS.match(symbol.dotted) is not None
    if last_name(call.func) in _STARTS or starts or _is_asked_of_a_starter(call.func, scope, project):
        yield from arguments_of(call)
        return
    callee = symbol.target if symbol is not None and isinstance(symbol.target, FunctionInfo) else None
    hidden = 0  # parameters that the call does not fill: `self`
    if isinstance(call.func, ast.Attribute) and _is_self(call.func.value, scope) and scope.cls is not None:
        callee = project.method(scope.cls, call.func.attr)
        hidden = 0 if callee is None or callee.is_static else 1
    if callee is None or not _SWITCHES.isdisjoint(callee.words | scope.words):
        return
    names = [parameter.arg for parameter, _ in parameters(callee)][hidden:]
    given = [*zip(names, call.args, strict=False), *((keyword.arg, keyword.value) for keyword in call.keywords)]
    yield from (value for name, value in given if name in callee.callees)


def _started(call: ast.Call, scope: FunctionInfo, project: Project) -> list[ast.expr] | None:
    """Return the function that a call has a thread, or a pool, run: it runs under autograd there, whoever calls.

    Be it prepared by `partial(f, x)`. Whatever else is given may be run by that function as it likes. None where a call
    does no such thing, nothing where an `initializer` of the pool may switch autograd off.
    """
    function = function_started(call)
    if function is None:
        return None
    if begins_a_thread(call):
        pools = _makers(call.args[0], scope, project) if last_name(call.func) == "run_in_executor" else []
    else:
        pools = _makers(call.func.value, scope, project) if isinstance(call.func, ast.Attribute) else []
        if not pools or not all(last_name(pool) in _POOLS for pool in pools):
            return None
    if any(map(is_readied, pools)):
        return []
    prepared = function.args[:1] if isinstance(function, ast.Call) and last_name(function) == "partial" else []
    return [function, *prepared]


_POOLS = frozenset({"ThreadPoolExecutor", "ProcessPoolExecutor"})


def _makers(pool: ast.expr, scope: FunctionInfo, project: Project) -> list[ast.expr]:
    """Return what a pool was made by: what a variable of a function, or of one around it, or an attribute holds."""
    if isinstance(pool, ast.Name):
        inner: FunctionInfo | None = scope
        while inner is not None:
            if values := values_entered(inner, pool.id):
                return values
            inner = inner.parent
        return []
    kept = attribute_of(pool, scope.self_name or "")
    if kept is None or scope.cls is None:
        return [pool]
    methods = [method for cls in project.ancestry(scope.cls)[0] for method in cls.methods.values()]
    return [value for method in methods for name, value in stored(method) if name == kept and not is_none(value)]


def _is_asked_of_a_starter(func: ast.expr, scope: FunctionInfo, project: Project) -> bool:
    """Tell whether a method is called of what a starter made: `button = gr.Button()`, `button.click(predict)`.

    `gr.Button().click(check).then(predict)` as well, and what a `with` enters.
    """
    made = func.value if isinstance(func, ast.Attribute) else None
    if isinstance(made, ast.Call):
        return _is_made_by_a_starter(made, scope, project)
    if not isinstance(made, ast.Name):
        return False
    inner: FunctionInfo | None = scope
    while inner is not None:
        if values := values_entered(inner, made.id):
            # `event = event.then(f)` says nothing of what it was before
            anew = [value for value in values if made.id not in names_in(value)]
            return bool(anew) and all(_is_made_by_a_starter(value, inner, project) for value in anew)
        inner = inner.parent
    return False


def _is_made_by_a_starter(value: ast.expr, scope: FunctionInfo, project: Project) -> bool:
    if not isinstance(value, ast.Call):
        return False
    symbol = project.resolve_in(scope, value.func)
    if symbol is not None and _STARTERS.match(symbol.dotted):
        return True
    return isinstance(value.func, ast.Attribute) and _is_asked_of_a_starter(value.func, scope, project)


_SWITCHES = GRAD_SWITCHES | {"eval", "train"}
"""What whoever runs a function may do to its model or to autograd first."""


def _is_variable(scope: FunctionInfo, name: str) -> bool:
    """Tell whether `name` is a variable of a function, or of one around it: `train=True` hides `def train` there."""
    if scope.is_body:
        return False
    own = scope.assigns(name) or any(argument.arg == name for argument, _ in parameters(scope))
    return own or (scope.parent is not None and _is_variable(scope.parent, name))


def _is_self(node: ast.expr, scope: FunctionInfo) -> bool:
    return isinstance(node, ast.Name) and node.id == scope.self_name
