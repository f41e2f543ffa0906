"""What is looked at in the result of a forward where no inference is meant: its graph, or whether it equals another."""

from __future__ import annotations

import ast

from modellint.static.flow.events import Event
from modellint.static.flow.frames import site_of
from modellint.static.guards import assignments, own
from modellint.static.project import ModuleInfo
from modellint.static.project.names import last_name, names_in
from modellint.static.project.trees import walk

_COMPARES = frozenset({"equal", "allclose", "isclose", "array_equal"})


def is_compared(event: Event) -> bool:
    """Tell whether an assertion compares what a forward gave with something else: code is tried out there.

    So does a helper named for that, of which nothing is wanted: `allclose(mine, theirs, "the output")`.
    """
    function = event.function
    held = {name for name, value in assignments(function) if site_of(function.module, value) == event.site}
    alone = (node for node in own(function, ast.Expr) if _is_helper(node.value))
    return any(
        names_in(check) & held
        and any(last_name(node.func) in _COMPARES for node in walk(check) if isinstance(node, ast.Call))
        for check in (*own(function, ast.Assert), *alone)
    )


def _is_helper(node: ast.expr) -> bool:
    """Tell whether this calls a function of the project that compares: torch's gives an answer that is to be used."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _COMPARES


def reads_graphs(module: ModuleInfo) -> bool:
    """Tell whether a file asks results for the graph that autograd recorded: models are run there to get one."""
    return any(node.attr == "grad_fn" for function in module.functions for node in own(function, ast.Attribute))
