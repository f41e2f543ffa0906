"""What comments say that the code cannot: that something is meant."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from modellint.static.project import FunctionInfo, ModuleInfo

_MEANT = re.compile(
    r"#.*?(?:\b(?:do ?n[o']?t|not|never|without|no need)\b.{0,40}?\b(?:eval(?:uation)? ?mode|eval\(\)|\.eval\b)"
    r"|\b(?:keep|kept|leave|left|stay|remain|want|need|enable|activate)\w*\b.{0,40}?"
    r"\b(?:train(?:ing)?[ -]mode|dropout|\.train\b))",
    re.I,
)
_ABOVE = 12


@lru_cache(maxsize=1)
def _rows(text: str) -> list[str]:
    return text.splitlines()


def says_mode_is_meant(function: FunctionInfo, row: int) -> bool:
    """Tell whether a comment in `function`, on `row` or a dozen rows above it, says that training mode is meant.

    "don't switch to eval mode because we want losses", "keep dropout on".
    """
    node = function.node
    first = max(node.lineno if node is not None else 1, row - _ABOVE)
    rows = _rows(function.module.text)[first - 1 : row]
    return any("#" in text and _MEANT.search(text) for text in rows)


_JUST_ABOVE = 3


def says(module: ModuleInfo, node: ast.expr | ast.stmt, pattern: str | re.Pattern[str]) -> bool:
    """Tell whether `pattern` is found in a comment in the rows of `node`, or in the three above it."""
    rows = _rows(module.text)[max(0, node.lineno - 1 - _JUST_ABOVE) : node.end_lineno]
    return any(re.search(pattern, comment) for _, mark, comment in (row.partition("#") for row in rows) if mark)
