"""The elements of displays and comprehensions, and calls that hand on what they are given."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from modellint.static.origins.values import ELEMENT, Origin, Step
from modellint.static.project.names import last_name

_BARS = frozenset({"tqdm", "trange", "tqdm_notebook", "tnrange", "progress_bar", "track", "alive_it"})
"""Progress bars of tqdm, fastprogress, rich and alive-progress, which give what they are given."""
_SAME_VALUE = frozenset({"list", "tuple", "iter", "deepcopy", "copy", "cycle", *_BARS})
_HANDS_BACK = frozenset(
    {"prepare", "setup_dataloaders", "prepare_data_loader", "distribute_dataset", "auto_dataloader"}
)


def passed_on(origin: Origin, node: ast.Call, step_of: Callable[[Origin], Step]) -> list[Origin] | None:
    """Return what calls hand on that are known by their names: what they are given, or elements of it; else None."""
    name = last_name(node.func)
    if isinstance(node.func, ast.Attribute):
        if name == "__iter__":
            return [origin.at(node.func.value).along(origin.path)]
        own = isinstance(node.func.value, ast.Name) and node.func.value.id == origin.scope.self_name
        if name in _HANDS_BACK and node.args and not own:  # `self.prepare(image)` is a transform
            return _handed_back(origin, node)
        if name in ("items", "values") and not node.args and origin.path[:1] == (ELEMENT,):
            rest = origin.path[1:]
            if name == "items":
                rest = rest[1:] if rest[:1] == (1,) else ("",)
            return [origin.at(node.func.value).along((ELEMENT, *rest))]
        if name == "get" and node.args:
            return [origin.at(node.func.value).along((step_of(origin.at(node.args[0])), *origin.path))]
    if name == "enumerate" and node.args and origin.path[:2] == (ELEMENT, 1):
        return [origin.at(node.args[0]).along((ELEMENT, *origin.path[2:]))]
    if name == "zip" and len(origin.path) > 1 and isinstance(origin.path[1], int):
        if origin.path[1] < len(node.args):
            return [origin.at(node.args[origin.path[1]]).along((ELEMENT, *origin.path[2:]))]
    if name == "next" and node.args:
        return [origin.at(node.args[0]).along((ELEMENT, *origin.path))]
    if name in _SAME_VALUE and node.args and not isinstance(node.args[0], ast.Starred):
        return [origin.at(node.args[0]).along(origin.path)]
    return None


def _handed_back(origin: Origin, node: ast.Call) -> list[Origin]:
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
