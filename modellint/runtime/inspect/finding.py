"""What a detector says before places, counts and words are put to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from modellint.diagnostic import Confidence
from modellint.runtime.trace import ModuleFact, Op, Site, Trace

_SHOWN = 3
_EXACT = ("record", "pt2", "torchscript", "onnx")
"""Levels that show what runs: an observed forward, and files that hold the graph."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One observation; those of one rule that fall on one source line become one diagnostic.

    `words` fill the placeholders of the rule's message.
    """

    site: Site | None
    module: str | None
    module_type: str | None
    node: str | None
    words: Mapping[str, str]
    evidence: Mapping[str, Any] = field(default_factory=dict)
    confidence: Confidence = Confidence.CERTAIN
    built: Site | None = None
    explained_by: tuple[str, ...] = ()
    """Codes of findings that may be the cause; those that were not found are dropped."""
    explained_here: bool = True
    """Whether the cause has to stand at the same line or in the same module."""


def modules_by_path(trace: Trace) -> Mapping[str, ModuleFact]:
    """Return the module facts by path."""
    return {fact.path: fact for fact in trace.modules}


def of_op(trace: Trace, op: Op, modules: Mapping[str, ModuleFact], words: Mapping[str, str]) -> Finding:
    """Return a finding about an operation: where it was called, else where its module was called or built."""
    fact = modules.get(op.module or "")
    evidence: dict[str, Any] = {"op": op.name, **(fact.settings if fact is not None else {}), **op.args}
    if op.shape:
        evidence["shape"] = list(op.shape)
    evidence |= {name: value for name, value in (("dtype", op.dtype), ("device", op.device)) if value}
    evidence["level"] = op.level
    site = trace.site(op.site)
    built = trace.site(fact.built) if fact is not None else None
    if site is None and fact is not None:
        site = trace.site(fact.site) or built
    return Finding(
        site=site,
        module=op.module,
        module_type=fact.type if fact is not None else None,
        node=op.name,
        words={"op": op.base, "type": fact.short_type if fact is not None else "", **words},
        evidence=evidence,
        confidence=Confidence.CERTAIN if op.level in _EXACT else Confidence.LIKELY,
        built=None if built == site else built,
    )


def list_modules(paths: Iterable[str]) -> str:
    """Return `12 modules: encoder.layer.0..11.attention.dropout`, or the one path, or `the model itself`."""
    unique = list(dict.fromkeys(paths))
    if len(unique) == 1:
        return unique[0] or "the model itself"
    shown = compress(unique)
    tail = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return f"{len(unique)} modules: {', '.join(shown[:_SHOWN])}{tail}"


def compress(paths: Sequence[str]) -> list[str]:
    """Write paths that differ only in their numbers as one, with ranges."""
    groups: dict[tuple[str, ...], list[list[int]]] = {}
    for path in paths:
        parts = path.split(".")
        shape = tuple("#" if part.isdigit() else part for part in parts)
        groups.setdefault(shape, []).append([int(part) for part in parts if part.isdigit()])
    result = []
    for shape, numbers in groups.items():
        columns = [_range(sorted(set(column))) for column in zip(*numbers, strict=True)]
        left = iter(columns)
        result.append(".".join(next(left) if part == "#" else part for part in shape) or "the model itself")
    return result


def _range(values: list[int]) -> str:
    """Return `0..3,7` for [0, 1, 2, 3, 7]."""
    runs = []
    for _, group in groupby(enumerate(values), key=lambda pair: pair[1] - pair[0]):
        run = [value for _, value in group]
        runs.append(str(run[0]) if len(run) == 1 else f"{run[0]}..{run[-1]}")
    return ",".join(runs)
