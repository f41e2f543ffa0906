"""Two runs that should agree operation by operation: where they part, and which of those places matter."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from modellint.runtime.probes.bench import Bench
from modellint.runtime.probes.compare import Difference, Tolerance
from modellint.runtime.probes.pairing import Entry
from modellint.runtime.probes.result import FAILED, Culprit, LayerError, ProbeResult
from modellint.runtime.probes.tape import Tape, Values, mend_roots

_SUSPECTS = 8
_BRANCHES = "the runs take different branches here"
Group = tuple[str, int | None]


@dataclass(frozen=True, slots=True)
class Parting:
    """What was found: the operations that bring the difference in, and the error module by module."""

    culprits: tuple[Culprit, ...] = ()
    layers: tuple[LayerError, ...] = ()

    @property
    def is_drawn(self) -> bool:
        """Whether the difference begins in nothing but random numbers, which go by the order of the draws."""
        return bool(self.culprits) and all(culprit.draws for culprit in self.culprits)

    @property
    def branch(self) -> Culprit | None:
        """The operation that one of the runs does not have, where nothing but that was found."""
        return next((culprit for culprit in self.culprits if culprit.why == _BRANCHES), None)


def failed(
    probe: str,
    found: Difference,
    limit: Tolerance,
    cause: str,
    parting: Parting,
    details: Mapping[str, Any] | None = None,
) -> ProbeResult:
    """Return the verdict on a difference that is none of rounding."""
    details = {"output": found.where} if details is None else details
    result = ProbeResult(probe, FAILED, found.what, cause, found.relative, limit.limit, limit.origin, details=details)
    return replace(result, culprits=parting.culprits, layers=parting.layers)


def group(entry: Entry) -> Group:
    """Return what makes operations one culprit: the same operator at the same source line."""
    return entry.name, entry.site


def part(bench: Bench, pair: Callable[[Tape, Callable[[], Tape]], bool], limit: float, **options: Any) -> Parting:
    """Find the culprits of a difference.

    `pair(reference, other)` does the two runs, the second on the tape that `other()` makes once the first is
    recorded, and tells whether the outputs differ. `options` go to that tape.
    """

    def attempt(mend: Any) -> tuple[Tape, bool]:
        reference = bench.tape()
        made: list[Tape] = []

        def other() -> Tape:
            made.append(bench.tape(reference, limit=limit, mend=mend, **options))
            return made[0]

        differs = pair(reference, other)
        return made[0], differs

    plain, _ = attempt(None)
    mended, _ = attempt(mend_roots)
    found: dict[Group, Entry] = {}
    for index in mended.roots:
        found.setdefault(group(mended.entries[index]), mended.entries[index])
    guilty = list(found)
    if 1 < len(guilty) <= _SUSPECTS:
        guilty = [key for key in guilty if attempt(_all_but(key))[1]] or guilty[:1]
    guilty = [key for key in guilty if not _takes_its_size(found[key], found[guilty[0]])]
    culprits = [
        Culprit(
            entry.name, entry.module, entry.site, entry.inherited, entry.error, entry.stale, _why(entry), entry.draws
        )
        for entry in (found[key] for key in guilty)
    ]
    if not culprits and (entry := plain.branch()) is not None:
        culprits = [Culprit(entry.name, entry.module, entry.site, why=_BRANCHES)]
    return Parting(tuple(culprits), tuple(by_layer(bench, plain.entries, limit, guilty)))


def _takes_its_size(entry: Entry, first: Entry) -> bool:
    """Tell whether an operation makes a tensor of nothing but numbers, of another size since the `first` one did."""
    resized = entry.error == first.error == math.inf
    return entry is not first and resized and not entry.parents and not entry.stale


def _all_but(key: Group) -> Any:
    def mend(entry: Entry, reference: Values, own: Sequence[Any]) -> Values | None:
        return reference if entry.is_root and group(entry) != key else None

    return mend


def _why(entry: Entry) -> str:
    return "reads state that is not what it was" if entry.stale else "equal inputs, other results"


def by_layer(bench: Bench, entries: Sequence[Entry], limit: float, guilty: Collection[Group]) -> list[LayerError]:
    """Return the error of what enters and leaves each module that computes something itself.

    They come in order of their last operation. One that holds the first error of a `guilty` group stands where that
    operation is, with the error of its result: what follows inside it inherits.
    """
    kinds = {path: type(module).__name__ for path, module in bench.model.named_modules()}
    rows: dict[str, tuple[float, float]] = {}
    charged: dict[Group, str] = {}
    for entry in entries:
        if entry.module in charged.values():
            continue
        parents = (entries[parent] for parent in entry.parents if parent < len(entries))
        enters, _ = rows.pop(entry.module, (0.0, 0.0))
        enters = max((enters, *(parent.own for parent in parents if parent.module != entry.module)))
        rows[entry.module] = (enters, entry.own)
        if entry.own > limit and group(entry) in guilty:
            charged.setdefault(group(entry), entry.module)
    found = []
    for path, (enters, leaves) in rows.items():
        verdict = "agrees" if leaves <= limit else "culprit" if path in charged.values() else "inherits"
        found.append(LayerError(path or "(the model itself)", kinds.get(path, ""), enters, leaves, verdict))
    return found
