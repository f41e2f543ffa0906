"""ML608: code that only one of the two modes runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from modellint.runtime.inspect.finding import Finding, modules_by_path
from modellint.runtime.trace import ModeChange, Trace

_MOVES = frozenset(
    (
        "_local_scalar_dense", "_to_copy", "alias", "clone", "contiguous", "detach", "empty", "empty_like", "expand",
        "is_nonzero", "item", "lift_fresh", "reshape", "slice", "to", "unsqueeze", "view",
    )
)  # fmt: skip
"""Operations that move or rename data; which of them run depends on layouts, not on anybody's intention."""
_ARITHMETIC = frozenset(("add", "div", "exp", "floor", "ge", "gt", "le", "log", "lt", "mul", "neg", "sub", "where"))
"""What turns a draw into noise or a mask, and applies it."""
_SHOWN = 3


def mode_dependent_graph(trace: Trace, options: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield at most one finding: the operations that only training, and those that only evaluation runs.

    What everybody expects of training is left out: noise that training adds, also the stochastic depth of known
    libraries (`options["drop-path"]`), and buffers that it updates in place.
    """
    changes = [change for change in trace.mode_changes if _says_something(trace, change, options)]
    if all(change.mode == "train" for change in changes):
        changes = [change for change in changes if not _is_noise(change)]
    if not changes:
        return
    first, modules = changes[0], modules_by_path(trace)
    fact = modules.get(first.module or "")
    sides = {"training": "train", "evaluation": "eval"}
    told = [
        f"only {side} runs {_list(trace, (change for change in changes if change.mode == mode))}"
        for side, mode in sides.items()
        if any(change.mode == mode for change in changes)
    ]
    evidence = {
        side: [_place(trace, change) for change in changes if change.mode == mode] for side, mode in sides.items()
    }
    yield Finding(
        trace.site(first.site),
        first.module,
        fact.type if fact else None,
        first.name,
        {"differences": ", ".join(told)},
        evidence,
    )


def _says_something(trace: Trace, change: ModeChange, options: Mapping[str, Any]) -> bool:
    fact = modules_by_path(trace).get(change.module or "")
    site = trace.site(change.site)
    names = [fact.type if fact else "", site.frame.function if site else ""]
    if any(fnmatchcase(name, pattern) for name in names for pattern in options.get("drop-path", ())):
        return False
    base = _base(change)
    return base not in _MOVES and not (change.mode == "train" and base.endswith("_") and not change.random)


def _is_noise(change: ModeChange) -> bool:
    base = _base(change).rstrip("_")
    return change.random and (base in _ARITHMETIC or _draws(base))


def _draws(base: str) -> bool:
    return any(word in base for word in ("rand", "bernoulli", "dropout", "normal", "uniform", "gumbel", "exponential"))


def _base(change: ModeChange) -> str:
    return change.name.split(".")[1] if change.name.startswith("aten.") else change.name.rpartition(".")[2]


def _list(trace: Trace, changes: Iterable[ModeChange]) -> str:
    unique = list(dict.fromkeys(_place(trace, change) for change in changes))
    more = f" and {len(unique) - _SHOWN} more" if len(unique) > _SHOWN else ""
    return ", ".join(unique[:_SHOWN]) + more


def _place(trace: Trace, change: ModeChange) -> str:
    site = trace.site(change.site)
    row = f" (line {site.frame.row})" if site is not None else ""
    return f"{_base(change).rstrip('_')}{row}"
