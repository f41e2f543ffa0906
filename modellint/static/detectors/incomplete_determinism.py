"""Deterministic algorithms are asked for, but not everything that takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from modellint.catalog import ActiveRule
from modellint.static.context import FileContext, Finding
from modellint.static.guards import walk_own
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import is_false


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report calls that ask for determinism in a file that lacks one of the settings it takes.

    Options: `asks` are functions that ask for it with a true first argument; `needs` maps what is missing, as
    the message says it, to words any of which settles it; `contradictions` are attributes with the value that takes it
    back.
    """
    options = rule.rule.detector_options
    text = context.module.text
    for scope in context.scopes:
        for call in scope.calls:
            if context.qualified(scope, call.func) not in options["asks"] or not _asks(call):
                continue
            missing = [what for what, words in options["needs"].items() if not any(word in text for word in words)]
            missing += [f"{name} is {ast.unparse(value)}" for name, value in _contradicting(context, options)]
            if missing:
                yield Finding(context.site(call), {"missing": ", ".join(missing)})


def _asks(call: ast.Call) -> bool:
    mode = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "mode"), None)
    return not is_false(mode)


def _contradicting(context: FileContext, options: Mapping[str, Any]) -> Iterator[tuple[str, ast.expr]]:

    for scope in context.scopes:
        for name, value in _assigned(context, scope):
            wanted = options["contradictions"].get(name)
            if wanted is not None and isinstance(value, ast.Constant) and value.value == wanted:
                yield name, value


def _assigned(context: FileContext, scope: FunctionInfo) -> Iterator[tuple[str, ast.expr]]:
    for node in walk_own(scope):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            name = context.qualified(scope, node.targets[0])
            if name is not None:  # equivalent: no option is called None
                yield name, node.value
