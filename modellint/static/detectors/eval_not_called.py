"""A method that switches the mode is mentioned as a statement, not called."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modellint.catalog import ActiveRule
from modellint.static.context import FileContext, Finding


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report statements that are nothing but an attribute named in the option `methods` of the detector."""
    methods = rule.rule.detector_options["methods"]
    for scope in context.scopes:
        for statement in scope.statements:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Attribute):
                attribute = statement.value
                if attribute.attr in methods:
                    yield Finding(context.site(attribute), {"written": ast.unparse(attribute)})
