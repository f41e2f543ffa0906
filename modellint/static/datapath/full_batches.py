"""Evaluations that only full batches fit into, or whose data were found to make full batches alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modellint.static.datapath.consumption import Consumption
from modellint.static.guards import own
from modellint.static.origins import CallView, Origin, Resolver
from modellint.static.project import ModuleInfo
from modellint.static.project.names import last_name, written_name
from modellint.static.project.trees import walk

_RESIZES = frozenset({"resize_", "resize_as_", "set_"})


def wants_full_batches(resolver: Resolver, view: CallView, use: Consumption) -> bool:
    """Tell whether the evaluation `use` has no room for a smaller batch of a loader, or would never see one."""
    return _fills_buffer(resolver, use, _sizes(view)) or makes_full_batches(resolver, view, use)


def makes_full_batches(resolver: Resolver, view: CallView, use: Consumption | None = None) -> bool:
    """Tell whether the code around a loader, and around its `use`, makes sure that its data make full batches alone.

    A batch of one is always full.
    """
    sizes, data = _sizes(view), view.argument("dataset", 0)
    if "1" in sizes:
        return True
    held = {name for origin in (data, *resolver.origins(data)) for name in origin.names} if data is not None else set()
    if data is not None and data.node is not None:
        held.add(written_name(data.node))
    return any(_divides(module, sizes, held - {""}) for module in _files(view, use))


def _sizes(view: CallView) -> frozenset[str]:
    size = view.argument("batch_size", 1)
    return frozenset(_names(size)) - {""} if size is not None else frozenset()


def _names(size: Origin) -> Iterator[str]:
    """Yield what a batch size is called, here and where a caller gives it."""
    given: Origin | None = size
    while given is not None and given.node is not None:
        yield _name(given.node)
        given = given.activation.bindings.get(given.node.id) if isinstance(given.node, ast.Name) else None


def _name(node: ast.expr) -> str:
    """Return what a size is called; what a number is written like."""
    return str(node.value) if isinstance(node, ast.Constant) else written_name(node)


def _fills_buffer(resolver: Resolver, use: Consumption, sizes: frozenset[str]) -> bool:
    """Tell whether batches are copied into memory that was made before the loop, for batches of one of `sizes`."""
    inside = list(walk(use.place))
    of_batch = {node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    calls = [node for node in inside if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    resized = {ast.unparse(_owner(call)) for call in calls if last_name(call) in _RESIZES}
    for call in calls:
        buffer = _owner(call)
        if last_name(call) != "copy_" or ast.unparse(buffer) in resized:
            continue
        copied = {node.id for given in call.args for node in walk(given) if isinstance(node, ast.Name)}
        found = resolver.origins(Origin(buffer, use.scope, use.loader.activation))
        made = [origin.node for origin in found if origin.node is not None and not origin.path]
        before = made and not any(node in inside for node in made)
        if before and not copied.isdisjoint(of_batch) and all(_is_as_large_as(node, sizes) for node in made):
            return True
    return False


def _owner(call: ast.Call) -> ast.expr:
    """Return what a method is called of, without `.data`."""
    assert isinstance(call.func, ast.Attribute)
    owner = call.func.value
    return owner.value if isinstance(owner, ast.Attribute) and owner.attr == "data" else owner


def _is_as_large_as(made: ast.expr, sizes: frozenset[str]) -> bool:
    """Tell whether what makes a tensor is given one of `sizes` for the first of several: `torch.zeros(size, 3)`."""
    for call in walk(made):
        if isinstance(call, ast.Call) and call.args:
            shape = getattr(call.args[0], "elts", call.args)
            if len(shape) > 1 and _name(shape[0]) in sizes:
                return True
    return False


def _files(view: CallView, use: Consumption | None) -> set[ModuleInfo]:
    """Return the files in which a loader is made, asked for and run over."""
    files = {use.scope.module} if use is not None else set()
    origin: Origin | None = view.origin
    while origin is not None:
        files.add(origin.scope.module)
        origin = origin.activation.call
    return files


def _divides(module: ModuleInfo, sizes: frozenset[str], held: set[str]) -> bool:
    """Tell whether a file makes sure that a number of samples that is not that of training is a multiple of a size."""
    for scope in (module.body, *module.functions):
        kept = [node.test for node in own(scope, ast.Assert)]
        refused = [node.test for node in own(scope, ast.If) if isinstance(node.body[0], ast.Raise)]
        if _asks_for_rest(kept, ast.Eq, sizes, held) or _asks_for_rest(refused, ast.NotEq, sizes, held):
            return True
    return False


_OF_EVALUATION = re.compile(r"test|val|eval|dev", re.I)


def _asks_for_rest(tests: list[ast.expr], relation: type[ast.cmpop], sizes: frozenset[str], held: set[str]) -> bool:
    """Tell whether one of `tests` compares the rest of a number of samples with zero: `len(data) % size == 0`.

    The number is called for an evaluation, or is the length of one of `held`.
    """
    compared = (node for test in tests for node in walk(test) if isinstance(node, ast.Compare))
    return any(
        isinstance(node.ops[0], relation)
        and _name(node.comparators[0]) == "0"
        and isinstance(node.left, ast.BinOp)
        and isinstance(node.left.op, ast.Mod)
        and _name(node.left.right) in sizes
        and _is_number_of(node.left.left, held)
        for node in compared
    )


def _is_number_of(node: ast.expr, held: set[str]) -> bool:
    if isinstance(node, ast.Call):
        return last_name(node.func) == "len" and any(written_name(given) in held for given in node.args)
    text = ast.unparse(node)
    return _OF_EVALUATION.search(text) is not None and "train" not in text.lower()
