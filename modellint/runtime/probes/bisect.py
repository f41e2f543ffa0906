"""Where an opaque backend goes wrong: each module by itself through the backend, on the inputs that eager gives it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from modellint.runtime.capture.names import Names
from modellint.runtime.capture.subject import inputs_copied
from modellint.runtime.probes.bench import Bench, OutOfTime
from modellint.runtime.probes.compare import Difference
from modellint.runtime.probes.drift import Parting
from modellint.runtime.probes.result import Culprit, LayerError
from modellint.runtime.probes.tree import copied

_FAINT = 0.1
"""The share of the limit from which an error is followed into a module: clean models stay below it."""
Through = Callable[[Bench], Any]
"""Run the model of a bench through the backend, on the bench's inputs; raises what the backend raises."""


@dataclass(frozen=True, slots=True)
class _Call:
    path: str
    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: Any


def bisect(bench: Bench, through: Through, compare: Callable[[Any, Any], Difference], limit: float) -> Parting:
    """Return the innermost module that errs on the inputs that eager gives it, and the modules that were tried.

    `compare` measures the backend's outputs against eager's. Nothing is returned where no module errs by itself: the
    difference then comes into being between modules. A module that the backend does not take is passed over.
    """
    rows: list[LayerError] = []
    guilty: _Call | None = None
    inside: nn.Module | None = bench.model
    error = 0.0
    while inside is not None:
        tried: list[tuple[float, _Call]] = []
        for call in _children(bench, inside):
            try:
                own = compare(call.outputs, through(bench.of(call.module, call.args, call.kwargs))).relative
            except OutOfTime:
                raise
            except Exception:
                continue
            tried.append((own, call))
            if own > limit:
                break
            rows.append(LayerError(call.path, type(call.module).__name__, 0.0, own, "agrees"))
        # What is added to a larger value may only show further inside, or behind: the largest error is followed.
        worst = max(tried, key=lambda found: found[0], default=None)
        inside = worst[1].module if worst is not None and worst[0] > limit * _FAINT else None
        if worst is not None and worst[0] > limit:
            error, guilty = worst
    if guilty is None:
        return Parting(layers=tuple(rows))
    kind = type(guilty.module).__name__
    culprit = Culprit(kind, guilty.path, None, 0.0, error, False, "equal inputs, other results")
    rows = [row for row in rows if row.layer != guilty.path]
    return Parting((culprit,), (*rows, LayerError(guilty.path, kind, 0.0, error, "culprit")))


def _children(bench: Bench, parent: nn.Module) -> list[_Call]:
    """Run eager once, and return the calls of modules right below `parent`, with copies of what went in and out."""
    names = Names(bench.model)
    stack: list[tuple[nn.Module, str, tuple[Any, Any] | None]] = []
    calls: list[_Call] = []

    def enter(module: nn.Module, args: Any, kwargs: Any) -> None:
        inside = stack[-1][0] if stack else None
        path = names.path(module, inside)[0]
        stack.append((module, path, inputs_copied((args, kwargs)) if inside is parent else None))

    def leave(module: nn.Module, args: Any, kwargs: Any, outputs: Any) -> None:
        _, path, given = stack.pop()
        if given is not None and module is not parent:
            inputs, options = given
            calls.append(_Call(path, module, inputs, options, copied(outputs)))

    handles = []
    for module in bench.model.modules():
        handles.append(module.register_forward_pre_hook(enter, with_kwargs=True))
        handles.append(module.register_forward_hook(leave, with_kwargs=True))
    try:
        bench.run()
    finally:
        for handle in handles:
            handle.remove()
    return calls
