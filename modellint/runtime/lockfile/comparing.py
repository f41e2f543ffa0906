"""What differs between a locked fingerprint and the one found now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from modellint.runtime.lockfile.distance import agreement, distance
from modellint.runtime.lockfile.prints import Fingerprint

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Comparison:
    """`differences` are clauses for one message, the gravest first; `notes` are no defects.

    `changed` names the tensors whose bits differ, and how far they are: what a second build is compared with.
    """

    differences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    evidence: dict[str, Any] = field(default_factory=dict)


def compare(locked: Fingerprint, found: Fingerprint) -> Comparison:
    """Compare what was locked with what is there; tensors that were random when locked are left out."""
    differences: list[str] = []
    notes: list[str] = []
    random = set(locked.random)
    names = [name for name in locked.tensors if name in found.tensors and name not in random]
    changed = [name for name in names if locked.tensors[name] != found.tensors[name]]
    details = {name: _how(locked, found, name) for name in changed}
    # Summaries may differ by rounding between machines: the bits decide.
    details = {name: text for name, text in details.items() if text}
    missing = [name for name in locked.tensors if name not in found.tensors]
    added = [name for name in found.tensors if name not in locked.tensors]
    if details:
        shown = [f"{name} changed {text}" for name, text in list(details.items())[:_SHOWN]]
        more = f" and {len(details) - _SHOWN} more" if len(details) > _SHOWN else ""
        differences.append(f"{len(details)} of {len(locked.tensors)} tensors differ: {'; '.join(shown)}{more}")
    if missing:
        differences.append(f"gone: {_some(missing)}")
    if added:
        differences.append(f"new: {_some(added)}")
    if locked.mode != found.mode:
        differences.append(f"{locked.mode} mode has become {found.mode} mode")
    same_versions = locked.environment.get("torch") == found.environment.get("torch")
    if locked.architecture and found.architecture and locked.architecture != found.architecture:
        if same_versions or locked.kind != "model":
            differences.append("modules, their settings or the configuration differ")
        else:
            notes.append("modules describe themselves differently, which another torch may explain")
    elif locked.graph and found.graph and locked.graph != found.graph:
        if locked.environment == found.environment:
            differences.append("the forward runs other operations")
        else:
            notes.append("the forward runs other operations, which another torch or device may explain")
    outputs, words = _outputs(locked, found, bool(details or random))
    differences += outputs
    notes += words
    evidence = {"tensors": details, "missing": missing, "added": added, "locked": dict(locked.environment)}
    return Comparison(tuple(differences), tuple(notes), tuple(details), evidence)


def _how(locked: Fingerprint, found: Fingerprint, name: str) -> str:
    was, now = locked.tensors[name], found.tensors[name]
    if (was.dtype, was.shape) != (now.dtype, now.shape):
        return f"from {was.dtype}{list(was.shape)} to {now.dtype}{list(now.shape)}"
    return "" if was.hash == now.hash else distance(was, now).words


def _outputs(locked: Fingerprint, found: Fingerprint, explained: bool) -> tuple[list[str], list[str]]:
    """Return differences and notes about the outputs; `explained`: the weights are not the same to begin with."""
    if not locked.outputs:
        return [], []
    if locked.input_hash != found.input_hash:
        return [], ["the example input is another one, so outputs were not compared"]
    if not found.outputs:
        return ["there are no outputs to compare any more"], []
    if locked.outputs.keys() != found.outputs.keys():
        return [f"outputs {_some(list(locked.outputs))} have become {_some(list(found.outputs))}"], []
    verdicts = {path: agreement(entry, found.outputs[path]) for path, entry in locked.outputs.items()}
    far = [f"{path}: {verdict.words}" for path, verdict in verdicts.items() if not verdict.close]
    near = [f"{path}: {verdict.words}" for path, verdict in verdicts.items() if verdict.close and not verdict.exact]
    if far:
        return [f"outputs differ ({'; '.join(far[:_SHOWN])})"], []
    if near:
        text = f"outputs agree within tolerance, not bit for bit ({'; '.join(near[:_SHOWN])})"
        return ([text], []) if explained else ([], [text])
    return (["outputs are the same"], []) if explained else ([], [])


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def random_tensors(first: Fingerprint, second: Fingerprint) -> tuple[str, ...]:
    """Return the tensors in which two builds of one model differ: nothing was loaded into them."""
    return tuple(_differing(first, second))


def _differing(first: Fingerprint, second: Fingerprint) -> Iterator[str]:
    for name, tensor in first.tensors.items():
        other = second.tensors.get(name)
        if other is None or other.hash != tensor.hash:
            yield name
