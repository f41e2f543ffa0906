"""Memory that nobody wrote to is given to a model."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from modellint.catalog import ActiveRule
from modellint.static.context import FileContext, Finding
from modellint.static.guards import own, walk_own
from modellint.static.naming import is_test_module
from modellint.static.origins import Origin
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import arguments_given, is_left_to_heirs
from modellint.static.project.names import arguments_of, last_name
from modellint.static.project.trees import walk

_VIEWS = frozenset(
    "to cuda cpu float half double view reshape unsqueeze squeeze expand repeat type requires_grad_ permute".split()
)
_SHAPES = frozenset({"shape", "size", "dim", "ndim", "numel", "nelement", "dtype", "device"})
_RESHAPES = frozenset({"view", "reshape", "flatten", "squeeze", "data", "detach", "cpu"})
MAX_DEPTH = 8


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report forwards of tensors that were allocated and never written, unless only the shape of the result is used.

    Options: `allocators` are functions and `methods` methods of a tensor whose result is not initialised,
    `constructors` classes for which that holds when they are given sizes, `converters` functions that keep what they
    are given, `joiners` functions that make one of a list of tensors.
    """
    if is_test_module(context.module):
        return
    options = rule.rule.detector_options
    words = {name.rsplit(".", 1)[-1] for name in (*options["allocators"], *options["constructors"])}
    words.update(options["methods"])
    if words.isdisjoint(context.callees):  # equivalent: spares the search
        return
    for scope in context.scopes:
        for call in scope.calls:
            for given in arguments_of(call):
                made = _allocation(context, Origin(given, scope), options, 0)
                if made is None or not context.is_forward(call) or _only_shape(scope, call):
                    continue
                if _is_never_read(context, scope, call, given):
                    continue
                where = context.site(given)
                written = ast.unparse(made.func)
                yield Finding(where, {"made": f"{written}(...)", "model": ast.unparse(call.func)})


def _allocation(context: FileContext, origin: Origin, options: Mapping[str, Any], depth: int) -> ast.Call | None:
    """Return the call that allocated what `origin` holds, None where something may have been written to it."""
    node = origin.node
    if depth > MAX_DEPTH:
        return None
    if isinstance(node, ast.Name):
        if _is_written(context, origin.scope, node.id, options["converters"]):
            return None
        found = [
            None if one.node is node else _allocation(context, one, options, depth + 1)  # equivalent: ends sooner
            for one in context.resolver.origins(origin)
        ]
        return found[0] if found and None not in found else None
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS:
        return _allocation(context, origin.at(node.func.value), options, depth + 1)
    name = context.qualified(origin.scope, node.func)
    keywords = {k.arg: k.value for k in node.keywords}
    device = keywords.get("device")
    if isinstance(device, ast.Constant) and device.value == "meta":
        return None

    method = name is None and last_name(node.func) in options["methods"] and isinstance(node.func, ast.Attribute)
    sized = name in options["constructors"] and (len(node.args) > 1 or any(map(_is_size, node.args)))
    if name in options["allocators"] or method or sized:
        return None if _holds_nothing(node) or _is_filled(context, origin, options["converters"]) else node
    if name in options["converters"] and node.args:
        return _allocation(context, origin.at(node.args[0]), options, depth + 1)
    parts = _listed(node.args[0]) if name in options["joiners"] and node.args else []
    joined = [_allocation(context, origin.at(part), options, depth + 1) for part in parts]
    return joined[0] if joined and None not in joined else None


def _is_never_read(context: FileContext, scope: FunctionInfo, call: ast.Call, given: ast.expr) -> bool:
    """Tell whether the forward of what is called takes `given`, for the sake of others, and never looks at it."""
    made = map(context.resolver.constructed, context.resolver.origins(Origin(call.func, scope)))
    forwards = [context.project.method(cls, "forward") if cls is not None else None for cls in made]
    return bool(forwards) and all(forward is not None and _ignores(forward, call, given) for forward in forwards)


def _ignores(forward: FunctionInfo, call: ast.Call, given: ast.expr) -> bool:
    names = [name for name, value in arguments_given(forward, call).items() if value is given and name in forward.given]
    read = {node.id for statement in forward.body for node in walk(statement) if isinstance(node, ast.Name)}
    return bool(names) and read.isdisjoint([*names, "locals"]) and not is_left_to_heirs(forward)


def _listed(value: ast.expr) -> list[ast.expr]:
    """Return the elements of a list that is written out, of a comprehension the one that stands for all."""
    if isinstance(value, (ast.List, ast.Tuple)):
        return value.elts
    return [value.elt] if isinstance(value, (ast.ListComp, ast.GeneratorExp)) else []


def _holds_nothing(node: ast.Call) -> bool:
    """Tell whether a tensor has no element: a size of zero stands for a cache that is empty so far."""
    sizes = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "size")]
    listed = [part for size in sizes for part in (size.elts if isinstance(size, (ast.Tuple, ast.List)) else [size])]
    return any(isinstance(part, ast.Constant) and part.value == 0 for part in listed)


def _is_filled(context: FileContext, origin: Origin, converters: list[str]) -> bool:
    """Tell whether the function that allocates writes to the memory before it hands it back."""
    names = [
        target.id
        for node in own(origin.scope, ast.Assign)
        if node.value is origin.node
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    return any(_is_written(context, origin.scope, name, converters) for name in names)


def _is_size(node: ast.expr) -> bool:
    """Tell whether an argument is a size, not data: a number, or sizes unpacked."""
    if isinstance(node, ast.Starred):
        return isinstance(node.value, (ast.Name, ast.Attribute)) and any(
            word in (last_name(node.value) or "") for word in ("shape", "size", "dim")
        )
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _is_written(context: FileContext, scope: FunctionInfo, name: str, converters: list[str]) -> bool:
    """Tell whether something may write to the tensor in the variable `name`; a conversion only looks at it."""
    written, given = _changed(scope)
    return name in written or any(
        not context.is_forward(call) and context.qualified(scope, call.func) not in converters
        for call in given.get(name, ())
    )


def _changed(scope: FunctionInfo) -> tuple[set[str], dict[str, list[ast.Call]]]:
    """Return the variables that are written to in place, and those that calls are given, with these calls."""
    known: tuple[set[str], dict[str, list[ast.Call]]] | None = scope.memo.get(_changed)
    if known is not None:  # equivalent: spares the walk
        return known
    written: set[str] = set()
    given: dict[str, list[ast.Call]] = {}
    for node in own(scope, ast.Subscript, ast.AugAssign, ast.Call):
        if isinstance(node, ast.Call):
            func = node.func
            if isinstance(func, ast.Attribute) and func.attr.endswith("_") and func.attr not in _VIEWS:
                written.add(_root(func.value))
            for value in arguments_of(node):
                given.setdefault(_root(value), []).append(node)
        elif isinstance(node, ast.AugAssign):
            written.add(node.target.id if isinstance(node.target, ast.Name) else "")
        elif isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            written.add(node.value.id)
    scope.memo[_changed] = written, given
    return written, given


def _root(node: ast.expr) -> str:
    """Return the variable that a chain of attributes and elements begins with, an empty text where it is none."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _only_shape(scope: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether nothing but the shape of what `call` returns is used, or nothing at all."""
    variable: str | None = None
    for node in walk_own(scope):
        if isinstance(node, ast.Expr) and node.value is call:
            return True
        if isinstance(node, ast.Attribute) and node.attr in _SHAPES and _base(node.value) is call:
            return True
        if isinstance(node, ast.Assign) and node.value is call and isinstance(node.targets[0], ast.Name):
            variable = node.targets[0].id
    if variable is None:
        return False
    uses = [n for n in walk_own(scope) if isinstance(n, ast.Name) and n.id == variable and isinstance(n.ctx, ast.Load)]
    shapes = {id(_base(n.value)) for n in walk_own(scope) if isinstance(n, ast.Attribute) and n.attr in _SHAPES}
    return all(id(use) in shapes for use in uses)


def _base(node: ast.expr) -> ast.expr:
    """Return what a chain of views begins with: `x` of `x.view(1, -1)[0]`."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _RESHAPES:
            node = node.func.value
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            return node
