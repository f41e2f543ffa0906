"""What comments say that the code cannot: that something is meant."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from itertools import takewhile

from modellint.static.project import FunctionInfo, ModuleInfo

_EVAL = r"\b(?:eval(?:uation)? ?mode|eval\(\)|\.eval\b)"
_TRAIN = r"\b(?:train(?:ing)?[ -]mode|dropout|\.train\b)"
_DO_NOT = r"\b(?:(?:do|should|must|can) ?n[o']?t|not calling|never|no need|with (?:and|or) without)\b"
_KEEP = r"\b(?:keep(?:ing)?|kept|leav(?:e|ing)|stay\w*|remain\w*|want\w*|need\w*|enabl\w*|activat\w*)\b"
_MEANT = re.compile(rf"#.*?(?:{_DO_NOT}.{{0,40}}?{_EVAL}|{_KEEP}.{{0,40}}?{_TRAIN})", re.I)
_IS_SO = re.compile(rf"#.*?(?:\b(?:not|without)\b.{{0,40}}?{_EVAL}|\b(?:keeps|left|leaves)\b.{{0,40}}?{_TRAIN})", re.I)
_WHY = re.compile(
    r"on purpose|deliberate|intention|\bmeant\b|so that|because|\bwant|sampl|stochastic|uncertain|\bMC\b|monte.carlo",
    re.I,
)
_ABOVE = 12


@lru_cache(maxsize=1)
def _rows(text: str) -> list[str]:
    return text.splitlines()


def says_mode_is_meant(function: FunctionInfo, row: int) -> bool:
    """Tell whether a comment in `function`, on `row` or a dozen rows above it, says that training mode is meant.

    "don't switch to eval mode because we want losses", "keep dropout on". What somebody left on, or forgot, is no wish.
    """
    node = function.node
    first = max(node.lineno if node is not None else 1, row - _ABOVE)
    rows = _rows(function.module.text)[first - 1 : row]
    return any("#" in text and _says_so(text) for text in rows)


def _says_so(text: str) -> bool:
    return _MEANT.search(text) is not None or (_IS_SO.search(text) is not None and _WHY.search(text) is not None)


_JUST_ABOVE = 3


def says(module: ModuleInfo, node: ast.expr | ast.stmt, pattern: str | re.Pattern[str]) -> bool:
    """Tell whether `pattern` is found in a comment in the rows of `node`, in the three above it, or right below it."""
    every = _rows(module.text)
    rows = every[max(0, node.lineno - 1 - _JUST_ABOVE) : node.end_lineno]
    rows += takewhile(lambda row: row.lstrip().startswith("#"), every[node.end_lineno or 0 :])
    return any(re.search(pattern, comment) for _, mark, comment in (row.partition("#") for row in rows) if mark)
