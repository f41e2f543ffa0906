"""ML704: what `state_dict()` holds, loaded into a model that the factory makes anew under other seeds."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from modellint.runtime.capture.ladder import shortened
from modellint.runtime.capture.random_sources import RandomState, sources
from modellint.runtime.capture.state import preserved
from modellint.runtime.probes.bench import Bench, OutOfTime
from modellint.runtime.probes.compare import Difference, difference, tensor_difference, tolerance_of
from modellint.runtime.probes.drift import failed, part
from modellint.runtime.probes.result import FAILED, PASSED, SECOND_CALL, SKIPPED, VACUOUS, ProbeResult
from modellint.runtime.probes.tape import Tape
from modellint.runtime.probes.tree import leaves

_SEED = 20260103
_NAMED = 4


def reload(bench: Bench) -> ProbeResult:
    """Run the probe."""
    if bench.again is None:
        return ProbeResult("reload", SKIPPED, "there is no factory to make the model again")
    with preserved(bench.model, copies=True):
        saved = _saved(bench.model)
        _reseed()
        try:
            fresh = bench.again()
        except Exception as error:
            return ProbeResult("reload", SKIPPED, f"the factory does not make a second model: {shortened(error)}")
    if fresh is bench.model:
        return ProbeResult("reload", SKIPPED, "the target is a model, not a factory: it cannot be made a second time")
    if [*fresh.state_dict()] != [*saved] and not saved:
        return ProbeResult("reload", VACUOUS, "state_dict() is empty")
    try:
        fresh.load_state_dict(saved)
    except RuntimeError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return ProbeResult(
            "reload", FAILED, f"load_state_dict() refuses: {lines[min(1, len(lines) - 1)][:200]}", "other keys"
        )
    reference = bench.reference()
    with bench.restored(), preserved(fresh, copies=True):
        before = RandomState(sources(fresh))
        found = difference(reference, bench.step(model=fresh))
        draws = bool(before.moved())
    limit = tolerance_of(reference)
    details: dict[str, Any] = {}
    seeds: Callable[[], None] = _as_they_are
    cause = "the factory makes another model"
    if (
        found.relative <= limit.limit
        and draws
        and (drawn := _drawn_once(bench, fresh, reference)).relative > limit.limit
    ):
        found, seeds, cause = drawn, _reseed, "the first forward draws what state_dict() does not hold"
        details[SECOND_CALL] = "under other seeds"
    if found.exact:
        return ProbeResult("reload", PASSED, metric=0.0, tolerance=0.0, tolerance_from="exact", details=details)
    if not details:
        details["not saved"] = list(_unsaved(bench.model, fresh))[:_NAMED]
        if details["not saved"]:
            cause = "state that state_dict() does not hold"
        elif found.relative <= limit.limit:
            return ProbeResult("reload", PASSED, "", "", found.relative, limit.limit, limit.origin)

    def pair(tape: Tape, other: Callable[[], Tape]) -> bool:
        before = bench.run(tape=tape)
        with bench.restored(), preserved(fresh, copies=True):
            seeds()
            return not difference(before, bench.step(tape=other(), model=fresh)).exact

    parting = part(bench, pair, 0.0, model=fresh)
    return failed("reload", found, limit, cause, parting, details)


def _as_they_are() -> None:
    """Draw what the reference draws."""


def _drawn_once(bench: Bench, fresh: nn.Module, reference: Any) -> Difference:
    """Return how far a first forward under other seeds is apart, where the next one draws nothing any more.

    It then keeps what it drew: another process gets another model. What each forward draws is no matter of saving.
    """
    with bench.restored(), preserved(fresh, copies=True):
        _reseed()
        found = difference(reference, bench.step(model=fresh))
        before = RandomState(sources(fresh))
        bench.step(model=fresh)
        return Difference() if before.moved() else found


def _saved(model: nn.Module) -> dict[str, Any]:
    """Return the state as a file would hold it."""
    state = model.state_dict()
    try:
        buffer = io.BytesIO()
        torch.save(state, buffer)
        buffer.seek(0)
        loaded: dict[str, Any] = torch.load(buffer, map_location="cpu", weights_only=True)
    except OutOfTime:
        raise
    except Exception:  # extra state of other kinds: take it as it is
        return {key: value.clone() if isinstance(value, torch.Tensor) else value for key, value in state.items()}
    return loaded


def _reseed() -> None:
    """Leave every global source of randomness where it was not when the model was made."""
    torch.manual_seed(_SEED)
    random.seed(_SEED)
    try:
        import numpy
    except ImportError:
        return
    numpy.random.seed(_SEED)


def _unsaved(model: nn.Module, fresh: nn.Module) -> Iterator[str]:
    """Yield the names of the tensors outside `state_dict()` that differ between the two models."""
    others = dict(fresh.named_modules())
    held = {id(tensor) for tensor in model.state_dict(keep_vars=True).values()}
    for path, module in model.named_modules():
        twin = others.get(path)
        if twin is None:
            continue
        for name, value in (*vars(module).items(), *module._buffers.items()):
            if name.startswith(("_parameters", "_buffers", "_modules")):
                continue
            again = dict(leaves(getattr(twin, name, None)))
            for inner, tensor in leaves(_parameters(value)):
                other = again.get(inner) if not isinstance(value, nn.Module) else None
                if not isinstance(tensor, torch.Tensor) or id(tensor) in held:
                    continue
                if isinstance(other, torch.Tensor) and not tensor_difference(tensor, other).exact:
                    yield ".".join(part for part in (path, name, inner) if part)


def _parameters(value: Any) -> Any:
    return None if isinstance(value, nn.Module) else value
