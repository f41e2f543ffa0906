"""Further forwards, run only where the first one gave reason: the other mode, and what autograd keeps alive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

from modellint.runtime.capture.recorder import Recorder
from modellint.runtime.capture.state import preserved
from modellint.runtime.capture.subject import Subject
from modellint.runtime.probes.compare import difference
from modellint.runtime.probes.tree import copied
from modellint.runtime.trace import RANDOM, ModeChange, Op


def other_mode(subject: Subject, recorder: Recorder, mode: Callable[[], Any]) -> list[ModeChange]:
    """Record a forward in the other mode and return the operations that only one of the two runs.

    Only where a class that is not torch's reads its mode: what torch's own modules do with it is known.
    """
    if not any(fact.reads_mode and not fact.type.startswith("torch.nn.") for fact in recorder.calls.values()):
        return []
    training = not subject.model.training
    with preserved(subject.model) as snapshot:
        run = subject.fresh()
        again = run.recorder(snapshot.keep)
        try:
            subject.model.train(training)
            with mode(), again.recording((run.args, run.kwargs)):
                run.call()
        except Exception:
            return []
    known = {
        path
        for path, fact in recorder.calls.items()
        if path in again.calls and (fact.type.startswith("torch.nn.") or "track_running_stats" in fact.settings)
    }
    names_of = ("eval", "train") if training else ("train", "eval")
    return [
        *_only(recorder.ops, again.ops, names_of[0], known),
        *_only(again.ops, recorder.ops, names_of[1], known),
    ]


def _only(ops: list[Op], others: list[Op], mode: str, known_modules: set[str]) -> list[ModeChange]:
    """Return what `ops` have and `others` do not: by name and line; the parts of a composite do not count."""
    known = {(op.name, op.site) for op in others}
    counts: Counter[tuple[str, int | None]] = Counter()
    first: dict[tuple[str, int | None], Op] = {}
    for op in ops:
        key = (op.name, op.site)
        if op.within is None and op.site is not None and key not in known and op.module not in known_modules:
            counts[key] += 1
            first.setdefault(key, op)
    return [
        ModeChange(mode, op.name, counts[key], op.site, op.module, op.live or bool(op.taint & RANDOM))
        for key, op in first.items()
    ]


def graph_on(subject: Subject) -> tuple[int, float | None] | None:
    """Return what the autograd that the forward switches on costs a caller who switched it off.

    That is how many bytes it keeps for a backward pass, parameters apart, and how far the answer is from the one
    without any graph, as max|difference| / max|reference| (other kernels may run); None where no forward ran, or
    none without a graph.
    """
    kept: dict[int, int] = {}
    own = {parameter.untyped_storage().data_ptr() for parameter in subject.model.parameters()}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
    with preserved(subject.model, copies=True):
        try:
            with torch.no_grad(), hooks:
                answer = copied(subject.fresh().call())
        except Exception:
            return None
    with preserved(subject.model, copies=True):
        try:
            with torch.inference_mode():  # in which no graph can be switched on
                reference = copied(subject.fresh().call())
        except Exception:
            return sum(kept.values()), None
    return sum(kept.values()), difference(reference, answer).relative
