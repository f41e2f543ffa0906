"""Comparisons of constants, with the outcome that Python itself would find."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

_OPERATIONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}


def compared(operation: ast.cmpop, left: object, right: object) -> bool | None:
    """Return whether `left <operation> right` holds; None where the two cannot be compared."""
    try:
        return bool(_OPERATIONS[type(operation)](left, right))
    except Exception:  # whatever the constants raise: nothing is known then
        return None
