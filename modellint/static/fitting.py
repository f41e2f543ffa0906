"""Training that a library does: which model a call gives to its trainer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modellint.static.classes import Classes
from modellint.static.guards import values_bound
from modellint.static.knowledge import Knowledge
from modellint.static.narrowing import attribute_of
from modellint.static.project import FunctionInfo, Project
from modellint.static.project.facts import argument_given


def fitted(
    method: FunctionInfo, call: ast.Call, project: Project, classes: Classes, knowledge: Knowledge
) -> Iterator[str]:
    """Yield how the model is written that a call gives to a library's trainer: `trainer.fit(self.net, loader)`."""
    if not isinstance(call.func, ast.Attribute):
        return
    owner = call.func.value
    kept = attribute_of(owner, method.self_name or "")
    makers = [(method, owner)]
    if isinstance(owner, ast.Name):
        makers = [(method, value) for value in values_bound(method, owner.id)]
    elif kept is not None and method.cls is not None:
        makers = classes.kept_in(method.cls, kept)
    for maker, value in makers:
        made = project.resolve_in(maker, value.func) if isinstance(value, ast.Call) else None
        fact = knowledge.entry_points.get(f"{made.dotted}.{call.func.attr}") if made is not None else None
        if fact is not None and fact.model is not None and fact.effect.runs == "training":
            given = argument_given(call, fact.model.names, fact.model.position)
            if given is not None:
                yield ast.unparse(given)
