"""What a model is given at inference, followed back to the transforms that made it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from modellint.static.datapath.evidence import (
    REPEATS,
    evaluates_by_name,
    infers,
    is_test_scope,
    looks_at_samples,
    trains,
)
from modellint.static.datapath.transforms import gives_views
from modellint.static.guards import path_to
from modellint.static.naming import TRAINING_NAME, snake
from modellint.static.origins import Activation, Origin, Resolver
from modellint.static.project import FunctionInfo, ModuleInfo
from modellint.static.project.names import last_name
from modellint.static.project.trees import walk

MAX_STEPS = 300


def inference_forwards(
    resolver: Resolver, module: ModuleInfo, is_forward: Callable[[ast.Call], bool]
) -> Iterator[tuple[ast.Call, FunctionInfo, Activation]]:
    """Yield the forwards of a file, told by `is_forward`, that are inference, as the code around them shows."""
    for scope in [module.body, *module.functions]:
        if is_test_scope(scope) or looks_at_samples(scope):
            continue
        forwards = [call for call in scope.calls if is_forward(call) and (call.args or call.keywords)]
        for activation in resolver.activations(scope) if forwards and not scope.is_body else [Activation()]:
            for call in forwards:
                if trains(resolver, scope, _around(scope, call), activation):
                    continue
                named = not scope.is_body and evaluates_by_name(scope.name)
                if named or infers(resolver, scope, call, activation):
                    yield call, scope, activation


def training_forwards(
    resolver: Resolver, module: ModuleInfo, is_forward: Callable[[ast.Call], bool]
) -> Iterator[tuple[ast.Call, FunctionInfo, Activation]]:
    """Yield the forwards of a file, told by `is_forward`, that are training: their results lead to gradients."""
    for scope in [module.body, *module.functions]:
        forwards = [call for call in scope.calls if is_forward(call) and (call.args or call.keywords)]
        for activation in resolver.activations(scope) if forwards and not scope.is_body else [Activation()]:
            for call in forwards:
                named = not scope.is_body and TRAINING_NAME.search(snake(scope.name)) is not None
                if named or trains(resolver, scope, _around(scope, call), activation):
                    yield call, scope, activation


def _around(scope: FunctionInfo, call: ast.Call) -> ast.AST:
    """Return the function of a forward, or the statement of the top level that holds it."""
    if scope.node is not None:
        return scope.node
    return next((s for s in scope.body if any(node is call for node in walk(s))), call)


def applied(resolver: Resolver, value: Origin) -> Iterator[Origin]:
    """Yield the callables that were applied on the way to `value`, but not those applied again and again (views)."""
    queue = [value]
    seen: set[object] = set()
    while queue and len(seen) < MAX_STEPS:
        origin = queue.pop()
        node = origin.node
        if node is None or origin.key in seen or origin.unsure:
            continue
        seen.add(origin.key)
        if isinstance(node, ast.Call):
            if not _is_repeated(origin.scope, node):
                yield origin.at(node.func)
                queue += [origin.at(item.value if isinstance(item, ast.Starred) else item) for item in node.args]
                queue += [origin.at(keyword.value) for keyword in node.keywords]
                if isinstance(node.func, ast.Attribute):
                    queue.append(origin.at(node.func.value))
                queue += [one for one in resolver.origins(origin) if one.node is not node]
        elif isinstance(node, (ast.Name, ast.Attribute)):
            found = [one for one in resolver.origins(origin) if one.symbol is None and one.node is not node]
            queue += [one.at(one.node) for one in found]
            if isinstance(node, ast.Attribute) and not found:
                queue.append(origin.at(node.value))
        elif isinstance(node, ast.IfExp):
            known = resolver.truth(origin.at(node.test))
            queue += [
                origin.at(one) for one, holds in ((node.body, True), (node.orelse, False)) if known in (None, holds)
            ]
        else:
            queue += [origin.at(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]


def _is_repeated(scope: FunctionInfo, node: ast.Call) -> bool:
    """Tell whether a call stands in what gives several views, as for a mean of them: a loop or comprehension that
    counts, or runs over views, a function that returns a list of them."""
    if any(REPEATS.search(snake(name)) for name in _names_around(scope)):
        return True
    for outer in path_to(scope, node):
        if isinstance(outer, ast.Lambda) and gives_views(outer):
            return True
        over = outer.iter if isinstance(outer, ast.For) else None
        if isinstance(outer, (ast.ListComp, ast.GeneratorExp)):
            over = outer.generators[0].iter
        if over is not None and _counts(over):
            return True
    return False


def _counts(over: ast.expr) -> bool:
    named = last_name(over) or ""
    return (named == "range" and isinstance(over, ast.Call)) or REPEATS.search(snake(named)) is not None


def _names_around(scope: FunctionInfo) -> Iterator[str]:
    inner: FunctionInfo | None = scope
    while inner is not None and not inner.is_body:
        yield inner.name
        inner = inner.parent
