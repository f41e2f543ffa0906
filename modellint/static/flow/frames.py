"""Activations of functions, and places in files."""

from __future__ import annotations

import ast
from collections.abc import Callable

from modellint.static.flow.events import CallSite, Loop
from modellint.static.flow.state import State
from modellint.static.flow.values import Grad, Site, Value
from modellint.static.project import FunctionInfo, ModuleInfo


class Frame:
    """One activation of a function. `unrolled` holds the constants of the loops being unrolled around the code."""

    __slots__ = (
        "breaks",
        "chain",
        "continues",
        "declared",
        "function",
        "id",
        "lap",
        "loops",
        "module",
        "on_yield",
        "parent",
        "raises",
        "receiver",
        "returns",
        "unrolled",
        "yielded",
    )

    def __init__(self, number: int, function: FunctionInfo, parent: int | None, chain: tuple[CallSite, ...]) -> None:
        self.id = number
        self.function = function
        self.module: ModuleInfo = function.module
        self.parent = parent
        self.chain = chain
        self.receiver: Value | None = None
        self.returns: list[tuple[Value, State]] = []
        self.raises: list[State] = []
        self.breaks: list[State] = []
        self.continues: list[State] = []
        self.declared: dict[str, str] = {}
        self.unrolled: tuple[tuple[str, object], ...] = ()
        self.lap = 0
        self.loops: tuple[Loop, ...] = ()
        self.on_yield: Callable[[Value, State], None] | None = None
        self.yielded: list[tuple[Value, State, Grad]] = []


def site_of(module: ModuleInfo, node: ast.AST) -> Site:
    """Return where `node` stands in `module`."""
    return Site(str(module.path), node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


def holds(function: FunctionInfo, site: Site | None) -> bool:
    """Tell whether `site` stands in the definition of `function`, below its decorators."""
    node = function.node
    if node is None or site is None or site.path != str(function.module.path):
        return False
    return node.lineno <= site.row <= (node.end_lineno or node.lineno)


def call_at(function: FunctionInfo, site: Site) -> ast.Call | None:
    """Return the call of `function` that stands at `site`, None where there is none."""
    known: dict[Site, ast.Call] | None = function.memo.get(call_at)
    if known is None:
        known = function.memo[call_at] = {}
        for call in function.calls:
            known.setdefault(site_of(function.module, call), call)
    return known.get(site)
