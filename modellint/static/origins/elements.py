"""The elements of displays, comprehensions and of what is handed back in the order it was given."""

from __future__ import annotations

import ast
from dataclasses import replace

from modellint.static.origins.values import ELEMENT, Origin, Step


def handed_back(origin: Origin, node: ast.Call) -> list[Origin]:
    """`a, b = accelerator.prepare(a, b)`: the same objects, in the same order."""
    if len(node.args) == 1:
        return [origin.at(node.args[0]).along(origin.path)]
    if origin.path and isinstance(origin.path[0], int) and origin.path[0] < len(node.args):
        return [origin.at(node.args[origin.path[0]]).along(origin.path[1:])]
    return [origin.at(a) for a in node.args]


def element(origin: Origin, node: ast.expr) -> list[Origin]:
    """Return the elements of a display that the first step of the path may mean."""
    step, rest = origin.path[0], origin.path[1:]
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        if isinstance(step, int) and -len(node.elts) <= step < len(node.elts):
            return [origin.at(node.elts[step]).along(rest)]
        return [origin.at(item).along(rest) for item in node.elts]
    if isinstance(node, ast.Dict):
        exact = [
            v
            for k, v in zip(node.keys, node.values, strict=True)
            if isinstance(k, ast.Constant) and repr(k.value) == step
        ]
        if step == ELEMENT:
            exact = list(node.values)
        return [origin.at(value).along(rest) for value in exact[-1:] if step != ELEMENT] or [
            origin.at(value).along(rest) for value in exact
        ]
    if isinstance(node, ast.DictComp):
        activation = origin.activation
        if step != ELEMENT and isinstance(node.generators[0].target, ast.Name) and isinstance(node.key, ast.Name):
            if not _may_give(node.generators[0].iter, step):
                return []
            made = ast.copy_location(ast.Constant(ast.literal_eval(str(step))), node.key)
            activation = activation.bind(node.key.id, origin.at(made))
        return [replace(origin.at(node.value), activation=activation).along(rest)]
    if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
        return [origin.at(node.elt).along(rest)]
    return []


def _may_give(node: ast.expr, step: Step) -> bool:
    """Tell whether what is iterated over may give the key that `step` names: a display of other constants does not."""
    if not isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return True
    return any(not isinstance(item, ast.Constant) or step in (item.value, repr(item.value)) for item in node.elts)
