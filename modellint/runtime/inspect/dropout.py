"""ML601: dropout that is live in what was captured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from modellint.runtime.inspect.finding import Finding, modules_by_path, of_op
from modellint.runtime.trace import RECURRENT, ModuleFact, Op, Trace


def is_dropout(op: Op) -> bool:
    """Tell whether an operation is dropout by its nature: plain, of attention, of a recurrent layer."""
    return "dropout" in op.base or "attention" in op.base or op.base in RECURRENT or "dropout_p" in op.args


def is_drop_path(trace: Trace, op: Op, modules: Mapping[str, ModuleFact], options: Mapping[str, Any]) -> bool:
    """Tell whether a draw is the stochastic depth of a library that the rule knows, by class or by function."""
    patterns = options.get("drop-path", ())
    fact = modules.get(op.module or "")
    site = trace.site(op.site)
    names = [fact.type if fact else "", site.frame.function if site else ""]
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def active_dropout(trace: Trace, options: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield every live dropout; `options["drop-path"]` holds patterns of known stochastic depth."""
    modules = modules_by_path(trace)
    for op in trace.outermost():
        if not op.live:
            continue
        if is_dropout(op):
            strength = op.args.get("p", op.args.get("dropout_p", op.args.get("dropout")))
            yield of_op(trace, op, modules, {"what": _describe(op, strength)})
        elif is_drop_path(trace, op, modules, options):
            yield of_op(trace, op, modules, {"what": "stochastic depth (drop path)"})


def _describe(op: Op, strength: Any) -> str:
    kind = "dropout"
    if "attention" in op.base:
        kind = "attention dropout"
    elif op.base in RECURRENT:
        kind = f"dropout between the layers of {op.base.upper()}"
    return f"{kind} (p={strength:g})" if isinstance(strength, (int, float)) else kind
