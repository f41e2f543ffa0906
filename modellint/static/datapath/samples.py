"""How many samples a data set holds, where the code shows it."""

from __future__ import annotations

import ast

from modellint.static.guards import own
from modellint.static.origins import Origin, Resolver
from modellint.static.project.names import last_name

MAX_DEPTH = 6
_SAME_SAMPLES = frozenset(
    {"array", "asarray", "as_tensor", "tensor", "Tensor", "FloatTensor", "LongTensor", "from_numpy", "stack"}
    | {"TensorDataset"}
)
"""What is as long as the first thing that it is given."""
_SAME_LENGTH = frozenset({"to", "cuda", "cpu", "float", "long", "half", "type", "astype", "contiguous", "clone"})
_GROWS = frozenset({"append", "extend", "insert"})


def is_one_sample(resolver: Resolver, data: Origin, depth: int = 0) -> bool:
    """Tell whether a data set is made of one sample alone, which has no order: `torch.tensor([encode(text)])`."""
    found = resolver.origins(data) if depth < MAX_DEPTH else []
    return bool(found) and all(_is_one(resolver, origin, depth + 1) for origin in found)


def _is_one(resolver: Resolver, origin: Origin, depth: int) -> bool:
    node = origin.node
    if isinstance(node, (ast.List, ast.Tuple)):
        alone = len(node.elts) == 1 and not isinstance(node.elts[0], ast.Starred)
        return alone and not _grows(origin)
    if not isinstance(node, ast.Call):
        return False
    name, first = last_name(node.func), node.args[0] if node.args else None
    if name == "Subset" and len(node.args) > 1:
        return is_one_sample(resolver, origin.at(node.args[1]), depth)
    if name in _SAME_LENGTH and isinstance(node.func, ast.Attribute):
        return is_one_sample(resolver, origin.at(node.func.value), depth)
    if name == "unsqueeze" and node.args:
        return isinstance(node.args[-1], ast.Constant) and node.args[-1].value == 0
    return name in _SAME_SAMPLES and first is not None and is_one_sample(resolver, origin.at(first), depth)


def _grows(origin: Origin) -> bool:
    """Tell whether something is put into the list that a variable holds, later, or may be by what it is handed to."""
    names, scope = origin.names, origin.scope
    grown = any(last_name(node.target) in names for node in own(scope, ast.AugAssign))
    stored = (node for node in own(scope, ast.Subscript) if not isinstance(node.ctx, ast.Load))
    done = (node.value for node in own(scope, ast.Expr) if isinstance(node.value, ast.Call))
    handed = (argument for call in done for argument in call.args)
    return (
        grown
        or any(last_name(node.value) in names for node in stored)
        or any(isinstance(given, ast.Name) and given.id in names for given in handed)
        or any(
            isinstance(call.func, ast.Attribute) and call.func.attr in _GROWS and last_name(call.func.value) in names
            for call in scope.calls
        )
    )
