"""Keep the value of every operation of one run, and compare another run with it as it goes."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn

from modellint.runtime.capture import adapter
from modellint.runtime.capture.names import Names
from modellint.runtime.capture.operands import storage
from modellint.runtime.capture.sites import SiteTable
from modellint.runtime.probes.compare import tensor_difference
from modellint.runtime.probes.pairing import Entry, Pairing

_MARK = "_modellint_tape"
_KEPT = 1 << 30
"""Bytes of values that a tape keeps; what comes later is followed without being compared."""
_HASHED = 1 << 16
"""Elements from which a tensor of the model's state is known by its sums instead of its bytes."""
_numbers = itertools.count(1)


Values = list[torch.Tensor | None]
Mend = Callable[[Entry, Values, list[torch.Tensor]], Values | None]
"""Given an operation, the reference's values and its own: the values to go on with, or None for its own."""

Fit = Callable[[torch.Tensor, torch.Tensor], torch.Tensor | None]
"""Given the reference's value and the run's own: the part of the former to compare with; None where there is none."""


def mend_roots(entry: Entry, reference: Values, own: list[torch.Tensor]) -> Values | None:
    """Go on with the reference's values wherever an error comes in, so that what follows is judged by itself."""
    return reference if entry.is_root else None


class Tape:
    """One observed run; with a `reference`, compared with it operation by operation.

    `limit`: errors up to it count as none. `mend` may replace what an operation returns. `fit` chooses what of the
    reference's values is compared, for runs of another batch size; `region`
    cuts both down to what counts.
    """

    def __init__(
        self,
        model: nn.Module,
        sites: SiteTable,
        reference: Tape | None = None,
        *,
        limit: float = 0.0,
        mend: Mend | None = None,
        fit: Fit = lambda value, _: value,
        region: Callable[[torch.Tensor], torch.Tensor] = lambda tensor: tensor,
        keep: bool | None = None,
    ) -> None:
        self.entries: list[Entry] = []
        self.override: tuple[int | None, str] | None = None
        """Site and module of what runs now, where a graph's node knows better than the stack."""
        self._reference = reference
        self._pairing = None if reference is None else Pairing(reference.entries, limit)
        self._limit = limit
        self._mend = mend
        self._fit = fit
        self._region = region
        self._keep = keep if keep is not None else reference is None
        self._names = Names(model)
        self._sites = sites
        self._stack: list[tuple[nn.Module, str]] = []
        self._number = next(_numbers)
        self._marked: list[torch.Tensor] = []
        self._room = _KEPT

    @property
    def diverged(self) -> int | None:
        """The first operation that the reference does not have at its place."""
        return self._pairing.diverged if self._pairing is not None else None

    @property
    def roots(self) -> list[int]:
        """The operations whose inputs agree with the reference's and whose results do not."""
        if self._pairing is not None:
            self._pairing.settle(self.entries)
        return [index for index, entry in enumerate(self.entries) if entry.is_root]

    def branch(self) -> Entry | None:
        """Return the operation at which the longer of the two runs leaves the other, None where both do the same."""
        return self._pairing.branch(self.entries) if self._pairing is not None else None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Observe everything that runs inside."""
        with ExitStack() as stack:
            stack.callback(self._unmark)
            enter = adapter.register_module_forward_pre_hook(self._enter)
            stack.callback(enter.remove)
            leave = adapter.register_module_forward_hook(self._leave, always_call=True)
            stack.callback(leave.remove)
            stack.enter_context(_Dispatch(self))
            yield

    def _enter(self, module: nn.Module, args: Any) -> None:
        parent = self._stack[-1][0] if self._stack else None
        self._stack.append((module, self._names.path(module, parent)[0]))

    def _leave(self, module: nn.Module, args: Any, output: Any) -> None:
        while self._stack:
            if self._stack.pop()[0] is module:
                break

    def operation(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run one operator and take note of it."""
        index = len(self.entries)
        inputs = [*adapter.tensors(args), *adapter.tensors(kwargs)]
        marks = [getattr(tensor, _MARK, None) for tensor in inputs]
        known = [mark for mark in marks if mark is not None and mark[0] == self._number]
        outside = [t for t, mark in zip(inputs, marks, strict=True) if mark is None or mark[0] != self._number]
        if self.override is not None:
            site, module = self.override
        else:
            site, module = self._sites.site(sys._getframe(2)), self._stack[-1][1] if self._stack else ""
        entry = Entry(
            name=str(func),
            module=module,
            site=site,
            parents=tuple(dict.fromkeys(mark[1] for mark in known)),
            state=tuple(_fingerprint(tensor) for tensor in outside),
            values=[],
            inherited=max((mark[2] for mark in known), default=0.0),
        )
        self.entries.append(entry)
        stream: Any = (kwargs.get("generator") or torch.default_generator) if adapter.is_seeded(func) else None
        before = None if stream is None else stream.get_state()
        result = func(*args, **kwargs)
        entry.draws = before is not None and not torch.equal(before, stream.get_state())
        written = [
            tensor
            for position, key in adapter.written(func)
            for tensor in adapter.tensors(args[position] if position < len(args) else kwargs.get(key))
        ]
        entry.writes = tuple(storage(tensor) for tensor in written)
        entry.reads = tuple(storage(tensor) for tensor in outside)
        outputs = list(adapter.tensors(result))
        outputs += [tensor for tensor in written if all(tensor is not other for other in outputs)]
        if self._reference is not None:
            result = self._judge(entry, result, outputs, written)
            outputs = list(adapter.tensors(result)) + [t for t in written if all(t is not o for o in outputs)]
        if self._keep:
            entry.values = [
                None if ".empty" in entry.name or "new_empty" in entry.name else self._kept(tensor)
                for tensor in outputs
            ]
        for tensor in outputs:
            setattr(tensor, _MARK, (self._number, index, entry.own))
            if isinstance(tensor, nn.Parameter) or not self._stack:
                self._marked.append(tensor)
        return result

    def _judge(self, entry: Entry, result: Any, outputs: list[torch.Tensor], written: list[torch.Tensor]) -> Any:
        entry.own = entry.inherited
        assert self._pairing is not None
        twin = self._pairing.twin(self.entries)
        if twin is None:
            entry.own = self._pairing.nearest(entry, outputs)
            return result
        entry.stale = twin.state != entry.state
        if len(twin.values) == len(outputs):
            fitted = [
                None if value is None else self._fit(value, tensor)
                for value, tensor in zip(twin.values, outputs, strict=True)
            ]
            entry.own = max(
                (
                    math.inf if part is None else tensor_difference(self._region(part), self._region(tensor)).relative
                    for value, part, tensor in zip(twin.values, fitted, outputs, strict=True)
                    if value is not None
                ),
                default=entry.inherited,
            )
        else:
            fitted = []
            entry.own = math.inf
        entry.is_root = entry.own > self._limit and entry.inherited <= self._limit
        entry.error = entry.own
        mended = self._mend(entry, fitted, outputs) if self._mend is not None else None
        if mended is None or any(value is None for value in mended) or len(mended) != len(outputs):
            return result
        values = {id(tensor): value for tensor, value in zip(outputs, mended, strict=True) if value is not None}
        if any(values[id(tensor)].shape != tensor.shape for tensor in outputs):
            return result
        entry.own = 0.0 if entry.is_root else entry.own
        for tensor in written:
            tensor.copy_(values[id(tensor)])
        return _swapped(result, values, written)

    def _kept(self, tensor: torch.Tensor) -> torch.Tensor | None:
        size = tensor.numel() * tensor.element_size()
        if size > self._room or tensor.device.type == "meta":
            return None
        self._room -= size
        return tensor.detach().clone()

    def _unmark(self) -> None:
        for tensor in self._marked:
            if hasattr(tensor, _MARK):
                delattr(tensor, _MARK)
        self._marked.clear()


def _swapped(item: Any, values: dict[int, torch.Tensor], written: list[torch.Tensor]) -> Any:
    if isinstance(item, torch.Tensor):
        return item if any(item is other for other in written) else values[id(item)].clone()
    if isinstance(item, (list, tuple)):
        return type(item)(_swapped(part, values, written) for part in item)
    return item


class _Dispatch(adapter.TorchDispatchMode):  # type: ignore[no-untyped-call]
    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __init__(self, tape: Tape) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._tape = tape

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self._tape.operation(func, args, kwargs or {})


def _fingerprint(tensor: torch.Tensor) -> Any:
    """Return what tells one value of a tensor of the model's state from another, whatever its strides."""
    shape = tuple(tensor.shape)
    try:
        if tensor.device.type == "meta" or tensor.is_sparse or tensor.is_quantized:
            return shape
        flat = tensor.detach().cpu().contiguous()
        if flat.numel() <= _HASHED:
            return (shape, hash(flat.reshape(-1).view(torch.uint8).numpy().tobytes()))
        return (shape, float(flat.double().sum()), float(flat.double().square().sum()))
    except (RuntimeError, TypeError, NotImplementedError):
        return (shape, math.nan)
