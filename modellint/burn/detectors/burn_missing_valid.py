"""A model that was trained in this function validates or predicts without `.valid()`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from modellint.burn.conduct import FORWARDS, named_for_inference
from modellint.burn.context import Finding, RustContext, Spot
from modellint.burn.items import Call, Function
from modellint.burn.syntax import ancestors, field, inside, names_bound, text_of
from modellint.catalog import ActiveRule

if TYPE_CHECKING:
    from tree_sitter import Node

_VALIDATES = re.compile(
    r"(?<![a-z])(?:valid|validation|val|test|testing|eval|evaluation|infer|inference|predict)(?![a-z])", re.I
)
# One of them is in the text of every function in which `_trained` finds something.
_TRAINING_WORDS = ("from_grads", "optim", "Optim", ".fit")
_SAME_MODEL = frozenset({"no_grad", "clone"})


def detect(context: RustContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report forwards of the trained model itself in a part of the function that only evaluates."""
    if not any(word in context.file.text for word in _TRAINING_WORDS):
        return
    for function in context.file.functions:
        if any(word in function.text for word in _TRAINING_WORDS) and not function.is_test:
            yield from _in_function(context, function)


def _in_function(context: RustContext, function: Function) -> Iterator[Finding]:
    backwards = [call.node for call in function.calls if call.method == "backward"]
    trained = dict.fromkeys(_trained(context, function), "")
    for node in function.lets:
        root, methods = _chain(field(node, "value"))
        if root in trained and methods and _SAME_MODEL.issuperset(methods):
            grad = "`no_grad()` freezes its parameters, and leaves dropout on; " if "no_grad" in methods else ""
            trained.update(dict.fromkeys(names_bound(field(node, "pattern")), grad))
    reported: set[tuple[str, int]] = set()
    for call in function.calls:
        name = text_of(call.receiver) if call.receiver is not None and call.receiver.type == "identifier" else ""
        if name not in trained or not FORWARDS.match(call.method):
            continue
        region = _region(call, function, backwards)
        if region is None or not _validates(region, call, function) or _is_valid_copy(function, name, call.node):
            continue
        if (name, region.start_byte) in reported:
            continue
        reported.add((name, region.start_byte))
        names = {"model": f"{name}.{call.method}", "no_grad": trained[name]}
        yield Finding(Spot(context.file.path, call.node), names)


def _trained(context: RustContext, function: Function) -> Iterator[str]:
    """Yield the names of the models that this function trains."""
    for call in function.calls:
        step = call.method == "step" and "optim" in text_of(call.receiver).lower()
        gradients = call.path[-2:] == ("GradientsParams", "from_grads")
        if (step or gradients) and len(call.arguments) >= 2:
            yield text_of(call.arguments[1]).lstrip("&").strip()
    if context.since(0, 19) is False:  # from 0.19 on, training hands back a model without autodiff
        for node in function.lets:
            _, methods = _chain(field(node, "value"))
            if methods[-1:] == ("fit",):
                yield from names_bound(field(node, "pattern"))


def _region(call: Call, function: Function, backwards: list[Node]) -> Node | None:
    """Return the part of the function around a forward in which nothing is differentiated; None in a training step."""
    region: Node | None = None
    for node in ancestors(call.node):
        if not inside(node, function.node):
            break
        if any(inside(backward, node) for backward in backwards):
            if node.type in ("for_expression", "while_expression", "loop_expression") and region is None:
                return None
            break
        if node.type in ("for_expression", "while_expression", "loop_expression", "if_expression"):
            region = node
    if region is None and all(backward.start_byte < call.node.start_byte for backward in backwards):
        return call.node  # behind all the training, in no loop
    return region


def _validates(region: Node, call: Call, function: Function) -> bool:
    if named_for_inference(function):
        return True
    if region.type == "for_expression":
        header = text_of(field(region, "value")) + " " + text_of(field(region, "pattern"))
        if _VALIDATES.search(header.replace("_", " ")):
            return True
    return any(_VALIDATES.search(text_of(argument).replace("_", " ")) for argument in call.arguments)


def _is_valid_copy(function: Function, name: str, forward: Node) -> bool:
    """Tell whether the name was bound anew to the result of `valid()` in front of the forward."""
    for node in function.lets:
        block = node.parent
        if node.start_byte < forward.start_byte and block is not None and inside(forward, block):
            if name in names_bound(field(node, "pattern")) and "valid" in _chain(field(node, "value"))[1]:
                return True
    return False


def _chain(node: Node | None) -> tuple[str, tuple[str, ...]]:
    """Return the name at the root of a chain of method calls, and the methods in their order."""
    methods: list[str] = []
    while node is not None and node.type in (
        "call_expression",
        "field_expression",
        "reference_expression",
        "try_expression",
    ):
        if node.type == "call_expression":
            node = field(node, "function")
        elif node.type == "field_expression":
            methods.insert(0, text_of(field(node, "field")))
            node = field(node, "value")
        else:
            node = node.named_children[-1] if node.named_children else None
    return text_of(node), tuple(methods)
