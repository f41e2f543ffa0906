"""Graphs that a compiler took from the model: run node by node and lined up with the eager run."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import partial
from typing import Any

from torch import fx, nn

from modellint.runtime.probes.bench import Bench
from modellint.runtime.probes.compare import tensor_difference
from modellint.runtime.probes.result import Culprit
from modellint.runtime.probes.tape import Entry, Tape
from modellint.runtime.probes.tree import copied

_FRAME = re.compile(r'File "(.+?)", line (\d+), in (\S+)')
_MOST = 4


@dataclass(slots=True)
class Graphs:
    """What can be run on a tape: `calls` are graphs with the inputs they were given, or else `whole` is a callable."""

    calls: list[tuple[fx.GraphModule, tuple[Any, ...]]] = field(default_factory=list)
    whole: Callable[[Any, Any], Any] | None = None
    model: nn.Module | None = None

    @classmethod
    def of_program(cls, module: Any) -> Graphs:
        """Return the graph of an exported program's module."""
        return cls(whole=lambda args, kwargs: module(*args, **kwargs), model=module)

    @classmethod
    def of_model(cls, model: nn.Module) -> Graphs:
        """Return a model that is run as it is."""
        return cls(whole=lambda args, kwargs: model(*args, **kwargs), model=model)

    def note(self, graph: fx.GraphModule, args: tuple[Any, ...]) -> None:
        """Keep a graph that a compiled model runs, with the inputs it is given."""
        if isinstance(graph, fx.GraphModule):
            self.calls.append((graph, copied(args)))


class _Placing(fx.Interpreter):
    """Runs a graph and tells the tape which source line the node at hand was made from."""

    def __init__(self, graph: fx.GraphModule, tape: Tape, bench: Bench) -> None:
        super().__init__(graph)
        self._tape = tape
        self._sites = bench.subject.sites

    def run_node(self, n: fx.Node) -> Any:
        stack = _FRAME.findall(n.meta.get("stack_trace") or n.stack_trace or "")
        modules = n.meta.get("nn_module_stack") or {}
        path = next(reversed([value[0] for value in modules.values()]), "") if modules else ""
        self._tape.override = (self._sites.written(stack) if stack else None, _path(str(path)))
        return super().run_node(n)


def _path(text: str) -> str:
    """Return the module path in `L['self'].blocks[0].attn` or `blocks.0.attn`."""
    text = re.sub(r"^L\['\w+'\]\.?|^L__self__\.?", "", text)
    text = re.sub(r"_modules\['([^']+)'\]", r"\1", text)
    return re.sub(r"\[['\"]?([^'\"\]]+)['\"]?\]", r".\1", text).strip(".")


def part_graphs(bench: Bench, graphs: Graphs, limit: float) -> tuple[Culprit, ...]:
    """Return the first operations of the other run that disagree with eager although their inputs agree."""
    reference = bench.tape()
    bench.run(tape=reference)
    other = bench.tape(model=graphs.model, keep=True)
    if graphs.whole is not None and isinstance(graphs.model, fx.GraphModule):
        run = bench.subject.fresh()
        flat = _flat_inputs(graphs.model, run.args, run.kwargs)
        _watch(bench, other, lambda: _Placing(graphs.model, other, bench).run(*flat))  # type: ignore[arg-type]
    elif graphs.whole is not None:
        whole = graphs.whole
        bench.call(lambda run: whole(run.args, run.kwargs), tape=other)
    else:
        for graph, args in graphs.calls:
            _watch(bench, other, partial(_replay, graph, args, other, bench))
    return tuple(_first(reference.entries, other.entries, limit))


def _replay(graph: fx.GraphModule, args: tuple[Any, ...], tape: Tape, bench: Bench) -> Any:
    # Copies, since tensors of inference mode are dispatched in another way than the eager run's.
    return _Placing(graph, tape, bench).run(*copied(args))


def _watch(bench: Bench, tape: Tape, function: Callable[[], Any]) -> None:
    bench.call(lambda _: function(), tape=tape)


def _flat_inputs(module: fx.GraphModule, args: Any, kwargs: Any) -> Sequence[Any]:
    from torch.utils import _pytree

    return _pytree.tree_leaves((args, kwargs))


def _first(before: Sequence[Entry], after: Sequence[Entry], limit: float) -> list[Culprit]:
    first, second = ([entry.name for entry in side] for side in (before, after))
    twins: dict[int, int] = {}
    for left, right, size in SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks():
        twins |= {right + step: left + step for step in range(size)}
    errors: dict[int, float] = {}
    found: dict[tuple[str, int | None], Culprit] = {}
    for index, entry in enumerate(after):
        inherited = max((errors[parent] for parent in entry.parents if parent in errors), default=0.0)
        twin = before[twins[index]] if index in twins else None
        strange = _strangers(after, twins, entry)
        errors[index] = _error(twin, entry, inherited)
        if errors[index] > limit >= inherited and len(found) < _MOST:
            blamed = after[min(strange)] if strange else entry
            site = blamed.site if blamed.site is not None or twin is None else twin.site
            module = blamed.module or (twin.module if twin is not None else "")
            why = "only one of the two runs has this operation" if strange else "equal inputs, other results"
            found.setdefault(
                (blamed.name, site), Culprit(blamed.name, module, site, inherited, errors[index], False, why)
            )
    if not found and len(first) != len(second):
        for entry in [entry for number, entry in enumerate(after) if number not in twins][:1]:
            found[entry.name, entry.site] = Culprit(entry.name, entry.module, entry.site, why="eager does not run this")
    return list(found.values())[:1]


def _strangers(after: Sequence[Entry], twins: dict[int, int], entry: Entry) -> list[int]:
    """Return the operations without a twin that feed this one directly, or through others of the kind."""
    found: list[int] = []
    open_ = [parent for parent in entry.parents if parent not in twins]
    while open_:
        index = open_.pop()
        if index not in found:
            found.append(index)
            open_ += [parent for parent in after[index].parents if parent not in twins]
    return found


def _error(twin: Entry | None, entry: Entry, inherited: float) -> float:
    if twin is None or len(twin.values) != len(entry.values):
        return inherited
    pairs = [(left, right) for left, right in zip(twin.values, entry.values, strict=True) if left is not None]
    if not pairs:
        return inherited
    return max((math.inf if b is None else tensor_difference(a, b).relative) for a, b in pairs)
