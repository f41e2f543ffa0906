"""A mode that was kept is put back as one flag, `model.training = mode`, where eval() had switched all modules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modellint.diagnostic import Confidence
from modellint.static.context import FileContext, Finding
from modellint.static.flow.frames import site_of
from modellint.static.guards import own
from modellint.static.naming import is_test_module
from modellint.static.project import FunctionInfo
from modellint.static.project.names import last_name

_WORDS = frozenset({"eval", "training"})


def put_back_alone(context: FileContext) -> Iterator[Finding]:
    """Report the statements that put one flag back; the eval() call is the related place of each."""
    if is_test_module(context.module):
        return
    for function in (context.module.body, *context.module.functions):
        if not _WORDS.issubset(function.words | function.callees):  # equivalent: saves the look
            continue
        for statement, model in _flags_set(function):
            mode = statement.value
            kept = [row for row, name, owner in _kept(function) if (name, owner) == (ast.unparse(mode), model)]
            calls = [c for c in function.calls_of("eval") if ast.unparse(c) == f"{model}.eval()"]
            begun = [c for c in calls if any(row < c.lineno < statement.lineno for row in kept)]
            if begun:
                message = (
                    f"`{model}.training` is one flag: the modules in `{model}` stay in evaluation mode; "
                    f"`{model}.train({ast.unparse(mode)})` puts all of them back"
                )
                related = ((site_of(context.module, begun[-1]), "put into evaluation mode here"),)
                site = site_of(context.module, statement)
                yield Finding(site, confidence=Confidence.LIKELY, message=message, related=related)


def _flags_set(function: FunctionInfo) -> Iterator[tuple[ast.Assign, str]]:
    """Yield the statements that set the flag of a module which may have parts, with how that module is written."""
    looped = {n.id for loop in own(function, ast.For) for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    for node in own(function, ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Attribute) or target.attr != "training":
            continue
        name = last_name(target.value) or ""
        if name not in looped and _LAYER.search(name) is None:
            yield node, ast.unparse(target.value)


_LAYER = re.compile(r"(^|_)(bn|norm|dropout|drop|layer)\d*$|Norm|Dropout")
"""How a module without parts is called, whose flag is all there is."""


def _kept(function: FunctionInfo) -> Iterator[tuple[int, str, str]]:
    """Yield the rows in which a mode is kept, `mode = model.training`, with the name and the model."""
    for node in own(function, ast.Assign):
        if isinstance(node.value, ast.Attribute) and node.value.attr == "training":
            yield node.lineno, ast.unparse(node.targets[0]), ast.unparse(node.value.value)
