"""A loop that puts every entry of a dict into a mode: `for key in models: models[key].eval()`.

Of a dict out of sight nobody knows the keys, so what the loop does to one unknown entry it does to all of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modellint.static.flow.machine import Machine
from modellint.static.flow.modes import set_modes_inside
from modellint.static.flow.state import State
from modellint.static.flow.values import EVAL, OPAQUE, TRAIN, ModeFact
from modellint.static.project.trees import walk

_MODES = {"eval": EVAL, "train": TRAIN}


def switch_each(machine: Machine, loop: ast.For | ast.AsyncFor, state: State) -> None:
    """Put all that a dict out of sight holds into the mode into which a loop over it puts each entry."""
    for held, call, name in _switches(loop):
        for oid in machine.eval(held, state).refs:
            if state.heap[oid].kind == OPAQUE:
                set_modes_inside(oid, frozenset({ModeFact(_MODES[name], machine.site(call), f"{name}()")}), state)


def _switches(loop: ast.For | ast.AsyncFor) -> Iterator[tuple[ast.expr, ast.Call, str]]:
    """Yield the dict that a loop runs over with each call that puts an entry into a mode, whatever the entry is."""
    held, asked = _dict_of(loop.iter)
    leaves = any(isinstance(node, (ast.Continue, ast.Break, ast.Return)) for node in walk(loop))
    switches = sum(isinstance(node, ast.Attribute) and node.attr in _MODES for node in walk(loop))
    if leaves or switches > 1 or not isinstance(held, (ast.Name, ast.Attribute)):
        return
    entries = set(_entries(loop.target, held, asked))
    for statement in loop.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.args or call.keywords:
            continue
        if call.func.attr in _MODES and ast.unparse(call.func.value) in entries:
            yield held, call, call.func.attr


def _dict_of(iterated: ast.expr) -> tuple[ast.expr, str]:
    """Return the dict that a loop runs over, and the method that gives its turns; none gives the keys."""
    if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Attribute) and not iterated.args:
        return iterated.func.value, iterated.func.attr
    return iterated, "keys"


def _entries(target: ast.expr, held: ast.expr, asked: str) -> Iterator[str]:
    """Yield how the body of a loop may call the entry of a turn."""
    pair = target.elts if isinstance(target, ast.Tuple) and len(target.elts) == 2 and asked == "items" else []
    key = pair[0] if pair else target if asked == "keys" else None
    value = pair[1] if pair else target if asked == "values" else None
    if isinstance(key, ast.Name):
        yield f"{ast.unparse(held)}[{key.id}]"
    if isinstance(value, ast.Name):
        yield value.id
