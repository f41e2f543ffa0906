"""Graphs that a compiler took from the model: run node by node and lined up with the eager run."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import partial
from typing import Any

from torch import fx
from torch.utils import _pytree

from modellint.runtime.probes.bench import Bench
from modellint.runtime.probes.compare import tensor_difference
from modellint.runtime.probes.pairing import Entry
from modellint.runtime.probes.result import Culprit
from modellint.runtime.probes.tape import Tape
from modellint.runtime.probes.tree import copied

_FRAME = re.compile(r'File "(.+?)", line (\d+), in (\S+)')
_MOST = 4
_ONE_SIDED = "only one of the two runs has this operation"
_VIEWS = {"t", "view", "_unsafe_view", "transpose", "permute", "expand", "detach", "alias", "clone", "reshape", "slice"}
"""Operations that no value depends on, which graphs leave out at will."""


@dataclass(slots=True)
class Graphs:
    """What can be run on a tape: `calls` are graphs with the inputs they were given, or else the `program`'s one."""

    calls: list[tuple[fx.GraphModule, tuple[Any, ...]]] = field(default_factory=list)
    program: Any = None

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
    other = bench.tape(model=graphs.program, keep=True)
    if graphs.program is not None:
        run = bench.subject.fresh()
        flat = _pytree.tree_leaves((run.args, run.kwargs))
        _watch(bench, other, lambda: _Placing(graphs.program, other, bench).run(*flat))
    else:
        for graph, args in graphs.calls:
            _watch(bench, other, partial(_replay, graph, args, other, bench))
    return tuple(_first(reference.entries, other.entries, limit))


def _replay(graph: fx.GraphModule, args: tuple[Any, ...], tape: Tape, bench: Bench) -> Any:
    # Copies, since tensors of inference mode are dispatched in another way than the eager run's.
    return _Placing(graph, tape, bench).run(*copied(args))


def _watch(bench: Bench, tape: Tape, function: Callable[[], Any]) -> None:
    bench.call(lambda _: function(), tape=tape)


def _first(before: Sequence[Entry], after: Sequence[Entry], limit: float) -> list[Culprit]:
    """Return the first operation of the other run that is wrong, or that only one of the two has."""
    if not after:
        return []
    first, second = ([index for index, entry in enumerate(side) if _computes(entry)] for side in (before, after))
    names = [before[index].name for index in first], [after[index].name for index in second]
    twins: dict[int, int] = {}
    for left, right, size in SequenceMatcher(None, names[0], names[1], autojunk=False).get_matching_blocks():
        pairs = ((second[right + step], first[left + step]) for step in range(size))
        twins |= {new: old for new, old in pairs if _shapes(after[new]) == _shapes(before[old])}
    known = {left: right for right, left in twins.items()}
    errors: dict[int, float] = {}
    found: dict[tuple[str, int | None], Culprit] = {}
    for index, entry in enumerate(after):
        inherited = max((errors[parent] for parent in entry.parents if parent in errors), default=0.0)
        twin = before[twins[index]] if index in twins else None
        strange = _strangers(after, twins, entry)
        errors[index] = _error(twin, entry, inherited)
        if errors[index] > limit >= inherited and len(found) < _MOST:
            left_out = _strangers(before, known, before[twins[index]]) if index in twins else []
            if twin is not None and _same_inputs(before, after, twin, entry, limit):
                strange, left_out = [], []  # they came to the same by other ways
            blamed = after[min(strange)] if strange else before[min(left_out)] if left_out else entry
            site = blamed.site if blamed.site is not None or twin is None else twin.site
            module = blamed.module or (twin.module if twin is not None else "")
            why = _ONE_SIDED if strange or left_out else "equal inputs, other results"
            found.setdefault(
                (blamed.name, site), Culprit(blamed.name, module, site, inherited, errors[index], False, why)
            )
    if not found:
        alone = [entry for number, entry in enumerate(after) if number not in twins and _computes(entry)]
        alone += [entry for number, entry in enumerate(before) if number not in known and _computes(entry)]
        for entry in alone[:1]:
            found[entry.name, entry.site] = Culprit(entry.name, entry.module, entry.site, why=_ONE_SIDED)
    return list(found.values())[:1]


def _same_inputs(before: Sequence[Entry], after: Sequence[Entry], twin: Entry, entry: Entry, limit: float) -> bool:
    """Tell whether an operation read the same in both runs, whatever that was made by."""
    pairs = zip(twin.parents, entry.parents, strict=False)
    same = [_error(before[old], after[new], math.inf) <= limit for old, new in pairs]
    return len(twin.parents) == len(entry.parents) and bool(same) and all(same)


def _shapes(entry: Entry) -> list[Any]:
    return [None if value is None else value.shape for value in entry.values]


def _computes(entry: Entry) -> bool:
    parts = entry.name.split(".")
    return len(parts) < 2 or parts[1] not in _VIEWS


def _strangers(after: Sequence[Entry], twins: dict[int, int], entry: Entry) -> list[int]:
    """Return the operations without a twin that feed this one directly, or through others of the kind."""
    found: list[int] = []
    open_ = [parent for parent in entry.parents if parent not in twins]
    while open_:
        index = open_.pop()
        if index not in found:
            found.append(index)
            open_ += [parent for parent in after[index].parents if parent not in twins]
    return [index for index in found if _computes(after[index])]


def _error(twin: Entry | None, entry: Entry, inherited: float) -> float:
    if twin is None or len(twin.values) != len(entry.values):
        return inherited
    pairs = [(left, right) for left, right in zip(twin.values, entry.values, strict=True) if left is not None]
    if not pairs:
        return inherited
    return max((math.inf if b is None else tensor_difference(a, b).relative) for a, b in pairs)
