"""ML608: code that only one of the two modes runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from modellint.runtime.inspect.finding import Finding, modules_by_path
from modellint.runtime.trace import Trace

_TRIVIAL = frozenset(
    (
        "alias",
        "clone",
        "is_nonzero",
        "_local_scalar_dense",
        "contiguous",
        "detach",
        "expand",
        "item",
        "lift_fresh",
        "reshape",
        "slice",
        "to",
        "view",
    )
)
"""Operations that move or rename data; which of them run depends on layouts, not on anybody's intention."""


def mode_dependent_graph(trace: Trace, options: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield, line by line, the operations that only training or only evaluation runs.

    The stochastic depth of known libraries is expected (`options["drop-path"]`).
    """
    modules = modules_by_path(trace)
    for change in trace.mode_changes:
        fact = modules.get(change.module or "")
        site = trace.site(change.site)
        names = [fact.type if fact else "", site.frame.function if site else ""]
        if any(fnmatchcase(name, pattern) for name in names for pattern in options.get("drop-path", ())):
            continue
        base = change.name.split(".")[1] if change.name.startswith("aten.") else change.name.rpartition(".")[2]
        if base.rstrip("_") in _TRIVIAL:
            continue
        mode = "training" if change.mode == "train" else "evaluation"
        yield Finding(
            site,
            change.module,
            fact.type if fact else None,
            change.name,
            {"op": base, "mode": mode},
            {"op": change.name, "only_in": mode, "count": change.count},
        )
