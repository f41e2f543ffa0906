"""ML705: the same values, elsewhere in memory. Never expanded over the batch: that would be another input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from modellint.runtime.probes.bench import Bench, OutOfTime
from modellint.runtime.probes.compare import Difference, difference, tolerance_of
from modellint.runtime.probes.double import cause_of_rounding, is_rounding
from modellint.runtime.probes.drift import part
from modellint.runtime.probes.result import FAILED, PASSED, VACUOUS, ProbeResult
from modellint.runtime.probes.tape import Tape
from modellint.runtime.probes.tree import rebuilt

_OFFSET = 3


def _transposed(tensor: torch.Tensor) -> torch.Tensor | None:
    if tensor.dim() < 2 or min(tensor.shape[-2:]) < 2:
        return None
    return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)


def _offset(tensor: torch.Tensor) -> torch.Tensor | None:
    if not tensor.numel():
        return None
    store = torch.zeros(tensor.numel() + _OFFSET, dtype=tensor.dtype, device=tensor.device)
    twin = store[_OFFSET:].view(tensor.shape)
    twin.copy_(tensor)
    return twin


def _strided(tensor: torch.Tensor) -> torch.Tensor | None:
    if not tensor.numel() or not tensor.dim():
        return None
    store = torch.zeros((*tensor.shape, 2), dtype=tensor.dtype, device=tensor.device)
    twin = store[..., 0]
    twin.copy_(tensor)
    return twin


def _channels_last(tensor: torch.Tensor) -> torch.Tensor | None:
    kinds = {4: torch.channels_last, 5: torch.channels_last_3d}
    if tensor.dim() not in kinds or tensor.shape[1] < 2:
        return None
    return tensor.contiguous(memory_format=kinds[tensor.dim()])


LAYOUTS: Mapping[str, Callable[[torch.Tensor], torch.Tensor | None]] = {
    "transposed": _transposed,
    "every second element": _strided,
    "storage offset": _offset,
    "channels_last": _channels_last,
}
_EXPANDED = "expanded"


def layout(bench: Bench) -> ProbeResult:
    """Run the probe."""
    inputs = (bench.subject.args, bench.subject.kwargs)
    reference = bench.reference()
    limit = tolerance_of(reference)
    found: dict[str, tuple[Difference, Any]] = {}
    refused: dict[str, str] = {}
    for name, change in {**LAYOUTS, _EXPANDED: _expanded}.items():
        changed, count = _changed(inputs, change)
        if not count:
            continue
        plain = inputs
        try:
            if name == _EXPANDED:  # other values: it needs a reference of its own
                plain, _ = _changed(changed, lambda tensor: tensor.contiguous())
            before = reference if plain is inputs else bench.run(*plain)
            found[name] = difference(before, bench.run(*changed, as_they_are=True)), plain
        except OutOfTime:
            raise
        except Exception as error:
            refused[name] = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:120]}"
    details: dict[str, Any] = {"by layout": {name: item[0].relative for name, item in found.items()}}
    if refused:
        details["refused"] = refused
    if not found:
        return ProbeResult("layout", VACUOUS, "no input can be laid out in another way", details=details)
    name, (worst, plain) = max(found.items(), key=lambda item: item[1][0].relative)
    result = ProbeResult("layout", PASSED, "", "", worst.relative, limit.limit, limit.origin, details=details)
    if worst.relative <= limit.limit:
        return result

    change = {**LAYOUTS, _EXPANDED: _expanded}[name]

    def anew(run: Callable[[Any, Any], Any]) -> Difference:
        doubled = rebuilt(plain, lambda _, tensor: tensor.double() if tensor.is_floating_point() else tensor)
        return difference(run(*doubled), run(*_changed(doubled, change)[0]))

    if is_rounding(bench, anew):
        return replace(result, reason="rounding: in double precision it is gone", cause=cause_of_rounding(bench))

    def pair(tape: Tape, other: Callable[[], Tape]) -> bool:
        before = bench.run(*plain, tape=tape)
        after = bench.run(*_changed(plain, change)[0], tape=other(), as_they_are=True)
        return difference(before, after).relative > limit.limit

    parting = part(bench, pair, limit.limit)
    if parting.is_drawn:
        why = "random numbers are handed out in the order of memory: nothing can be told of the layout"
        return ProbeResult("layout", VACUOUS, why, details=details)
    return replace(
        result,
        verdict=FAILED,
        reason=f"{name}: {worst.what}",
        cause="memory layout",
        culprits=parting.culprits,
        layers=parting.layers,
    )


def _expanded(tensor: torch.Tensor) -> torch.Tensor | None:
    """Repeat the first slice along the last axis by a stride of zero."""
    if tensor.dim() < 3 or tensor.shape[-1] < 2:
        return None
    return tensor[..., :1].contiguous().expand_as(tensor)


def _changed(inputs: Any, change: Callable[[torch.Tensor], torch.Tensor | None]) -> tuple[Any, int]:
    count = 0

    def one(_: str, tensor: torch.Tensor) -> torch.Tensor:
        nonlocal count
        if tensor.layout is not torch.strided or tensor.is_quantized:
            return tensor
        twin = change(tensor.detach())
        count += twin is not None
        return tensor if twin is None else twin

    args, kwargs = rebuilt(inputs, one)
    return (tuple(args), dict(kwargs)), count
