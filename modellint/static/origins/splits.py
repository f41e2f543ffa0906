"""Conditions that tell the parts of the data, or of the work, apart: training from evaluation."""

from __future__ import annotations

import ast
import re

from modellint.static.project.facts import is_none
from modellint.static.project.names import last_name
from modellint.static.project.trees import walk

_SPLIT = re.compile(
    r"(?:\b|_)(train\w*|aug\w*|split\w*|phase|mode|stage|subset|partition|part|eval\w*|val|valid\w*|test\w*|infer\w*|pred\w*"
    r"|shuffle\w*|random\w*|tta)(?:\b|_)",
    re.I,
)
"""Words of a condition that tells the data of training from the data of evaluation."""

_AMOUNT = re.compile(r"\b\w*_?(size|ratio|frac\w*|percent\w*|path|paths|dir|file|files|folder|root|csv)\b", re.I)
"""Names of amounts and places of data: whether there is any is asked, not which part of the work this is."""


def tells_split(test: ast.expr) -> bool:
    """Tell whether a condition asks which part of the work, or of the data, this is.

    Whether there are such data, `args.val_dataset is not None`, is another question.
    """
    if isinstance(test, ast.Compare) and is_none(test.comparators[0]) and _DATA.search(last_name(test.left) or ""):
        return False
    return _SPLIT.search(_AMOUNT.sub("", ast.unparse(test))) is not None


_DATA = re.compile(r"(data|set|loader)s?$", re.I)


def asks_for(test: ast.expr, value: ast.AST) -> bool:
    """Tell whether a condition asks whether there is such a value, or what it is made of.

    `held_out if held_out else test`, `if held_out is not None: loader = DataLoader(held_out)`.
    """
    if isinstance(test, ast.Compare) and isinstance(test.comparators[0], ast.Constant):
        if test.comparators[0].value is None and isinstance(test.left, (ast.Name, ast.Attribute)):
            asked = ast.dump(test.left)
            return any(ast.dump(node) == asked for node in walk(value) if isinstance(node, (ast.Name, ast.Attribute)))
        test = test.left
    return ast.dump(test) == ast.dump(value)
