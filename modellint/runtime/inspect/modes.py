"""ML605 and ML606: modules in the wrong mode, and modules that mode switches cannot reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from modellint.diagnostic import Confidence
from modellint.runtime.inspect.finding import Finding, modules_by_path
from modellint.runtime.trace import ModuleFact, Trace


def mixed_mode(trace: Trace, options: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the highest submodules in training mode under an evaluation root, where the mode changes something."""
    modules = {path: fact for path, fact in modules_by_path(trace).items() if fact.registered}
    if trace.root_training:
        return
    for path, fact in modules.items():
        parent = modules.get(path.rpartition(".")[0])
        if not path or not fact.training or (parent is not None and parent.training):
            continue
        below = [fact, *(other for name, other in modules.items() if name.startswith(path + "."))]
        affected = [other for other in below if other.training and other.reads_mode]
        if not affected:
            continue
        call = next((other.site for other in (*below, *affected) if other.site is not None), None)
        site = trace.site(call) or trace.site(affected[0].built) or trace.site(fact.built)
        words = {"type": fact.short_type, "affected": _count(affected)}
        evidence = {"training": True, "root_training": False, "affected": [other.path for other in affected][:20]}
        # A part that the example input does not reach may still be reached by another.
        ran = any(other.calls for other in affected) or trace.level() != "record"
        yield Finding(site, path, fact.type, None, words, evidence, Confidence.CERTAIN if ran else Confidence.LIKELY)


def unreachable(trace: Trace, options: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield modules that ran but are not registered, where eval(), to() or state_dict() miss something.

    One whose mode was set to evaluation by itself is kept apart on purpose.
    """
    for fact in trace.modules:
        if fact.registered or not fact.calls or not fact.training or _inside_another(fact, trace):
            continue
        if fact.has_state or fact.reads_mode:
            missed = [
                *(["state_dict()", "to()"] if fact.has_state else []),
                *(["eval()"] if fact.reads_mode else []),
            ]
            words = {"type": fact.short_type, "missed": " and ".join(missed)}
            yield Finding(
                trace.site(fact.site) or trace.site(fact.built), fact.path, fact.type, None, words,
                {"training": fact.training, "has_state": fact.has_state}, built=trace.site(fact.built),
            )  # fmt: skip


def _inside_another(fact: ModuleFact, trace: Trace) -> bool:
    return any(
        not other.registered and other.path != fact.path and fact.path.startswith(other.path + ".")
        for other in trace.modules
    )


def _count(facts: list[ModuleFact]) -> str:
    kinds: dict[str, int] = {}
    for fact in facts:
        kinds[fact.short_type] = kinds.get(fact.short_type, 0) + 1
    return ", ".join(f"{number} {kind}" if number > 1 else kind for kind, number in kinds.items())
