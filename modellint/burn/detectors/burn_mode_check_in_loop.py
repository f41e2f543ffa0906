"""The mode of the backend is asked again in every iteration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from modellint.burn.context import Finding, RustContext, Spot
from modellint.burn.items import Call, Function
from modellint.burn.syntax import field, inside, names_bound, text_of
from modellint.catalog import ActiveRule

if TYPE_CHECKING:
    from tree_sitter import Node


def detect(context: RustContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report the first question of each loop, unless its answer can change from one iteration to the next."""
    asks = frozenset(rule.rule.detector_options["asks"])
    if not any(ask in context.file.text for ask in asks):
        return
    for function in context.file.functions:
        if not any(ask in function.text for ask in asks) or function.is_test:
            continue
        reported: set[int] = set()
        for call in function.calls:
            name = call.method or (call.path[-1] if call.path else "")
            if name not in asks:
                continue
            around = [loop for loop in function.loops if inside(call.node, loop) and _in_body(call, loop)]
            if around and around[0].start_byte not in reported and not _changes(call, function, around[-1]):
                reported.add(around[0].start_byte)
                yield Finding(Spot(context.file.path, call.node), {"call": " ".join(text_of(call.node).split())})


def _in_body(call: Call, loop: Node) -> bool:
    body = field(loop, "body")
    return body is not None and inside(call.node, body)


def _changes(call: Call, function: Function, loop: Node) -> bool:
    """Tell whether the question is put to something that the loop makes or binds."""
    if call.receiver is None:
        return False
    made = set(names_bound(field(loop, "pattern")))
    for node in function.lets:
        if inside(node, loop):
            made.update(names_bound(field(node, "pattern")))
    words = set(text_of(call.receiver).replace(".", " ").replace("(", " ").replace("&", " ").split())
    return bool(words & made)
