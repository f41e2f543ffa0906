"""ML703: the same model by other means. What cannot take the model is skipped; what was never called proves nothing."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from modellint.runtime.capture.ladder import shortened
from modellint.runtime.capture.state import preserved
from modellint.runtime.probes.bench import Bench, OutOfTime
from modellint.runtime.probes.bisect import bisect
from modellint.runtime.probes.compare import TOLERANCES, Difference, Tolerance, difference, tolerance_of
from modellint.runtime.probes.double import Run, cause_of_rounding, is_rounding
from modellint.runtime.probes.drift import Parting, part
from modellint.runtime.probes.graphs import Graphs, part_graphs
from modellint.runtime.probes.result import FAILED, PASSED, SKIPPED, Culprit, ProbeResult
from modellint.runtime.probes.tape import Tape
from modellint.runtime.probes.tree import leaves, rebuilt

_MORE = 30
"""So many times eager's own error in single precision a backend's may be where rounding grows on the way."""


class Unavailable(Exception):
    """The backend is not here, or cannot take the model; the message is one line."""


@dataclass(slots=True)
class Prepared:
    """A backend that is ready: `call` runs it, `calls` counts how often it was really reached.

    `graphs` are None for one that runs the model's own operations: there the two runs are compared one by one.
    """

    call: Callable[[Any, Any], Any]
    graphs: Graphs | None
    calls: Callable[[], int] = lambda: 1
    limit: float | None = None
    device: str | None = None
    """Where it runs, if that is all that is different."""


Prepare = Callable[[Bench], Prepared]

_KERNELS = 1e-6
"""What may remain of a difference between two devices in double precision: some kernels hold constants of float32
whatever the precision (CUDA's hardswish multiplies by `1.0f / 6.0f`, the processor's divides by 6). More would be more
than a tenth of what float32 may differ by, of which rounding is then no excuse."""


def compare_backend(bench: Bench, name: str, prepare: Prepare) -> ProbeResult:
    """Run the model by other means, and find where it parts from eager."""
    reference = bench.reference()
    try:
        prepared, other = _run(bench, prepare)
    except OutOfTime:
        raise
    except Unavailable as reason:
        return ProbeResult(name, SKIPPED, str(reason))
    except Exception as error:
        return ProbeResult(name, SKIPPED, f"it does not take the model: {shortened(error)}")
    if not prepared.calls():
        return ProbeResult(name, SKIPPED, "the backend was never called: nothing was compiled")
    limit = tolerance_of(reference)
    if prepared.limit is not None:
        limit = Tolerance(prepared.limit, f"{name}: {prepared.limit:g} of the largest value")
    found = difference(_plain(reference), _plain(other))
    details: dict[str, Any] = {"backend": name, "output": found.where}
    result = ProbeResult(name, PASSED, "", "", found.relative, limit.limit, limit.origin, details=details)
    if found.relative <= limit.limit:
        return result
    if prepared.device is not None and is_rounding(bench, partial(_across, bench, prepared.device), _KERNELS):
        why = "rounding: in double precision both agree"
        return replace(result, reason=why, cause=cause_of_rounding(bench, prepared.device))
    try:
        parting = _part(bench, prepared, prepare, limit.limit)
    except OutOfTime:
        parting = Parting()
    if parting.culprits and all(culprit.inherited > 0 for culprit in parting.culprits):
        measure = partial(_errors_compared, bench, _plain(reference), _plain(other))
        if is_rounding(bench, measure, _MORE) is not False:
            return replace(result, reason="rounding that grows from operation to operation", cause="reduction order")
    return replace(
        result,
        verdict=FAILED,
        reason=found.what,
        cause=f"{name} against eager",
        culprits=parting.culprits,
        layers=parting.layers,
    )


def _run(bench: Bench, prepare: Prepare) -> tuple[Prepared, Any]:
    """Return the backend and what it answers for the inputs of the bench."""
    with preserved(bench.model, copies=True):
        prepared = prepare(bench)
    with preserved(bench.model, copies=True):
        return prepared, bench.call(lambda run: prepared.call(run.args, run.kwargs), compiled=True)


def _errors_compared(bench: Bench, reference: list[Any], other: list[Any], run: Run) -> Difference:
    """Return how many times as far as eager's the answer of a backend is from the one in double precision."""
    exact = _plain(run(bench.subject.args, bench.subject.kwargs))
    trios = [trio for trio in zip(exact, reference, other, strict=True) if _is_floating(trio[1])]  # no labels
    exact = [a.to(b.dtype) for a, b, _ in trios]
    own, others = (difference(exact, side) for side in ([b for _, b, _ in trios], [c for _, _, c in trios]))
    return replace(others, relative=others.relative / max(own.relative, torch.finfo(torch.float32).eps))


def _is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _across(bench: Bench, device: str, run: Run) -> Difference:
    """Compare the model with a copy of it on another device."""
    subject = bench.subject
    return difference(
        _plain(run(subject.args, subject.kwargs)), _plain(run(subject.args, subject.kwargs, device=device))
    )


def _part(bench: Bench, prepared: Prepared, prepare: Prepare, limit: float) -> Parting:
    """Find the culprit in the backend's graphs or, where these show nothing or there are none, by its modules."""
    graphs = prepared.graphs
    if graphs is None:

        def pair(tape: Tape, other: Callable[[], Tape]) -> bool:
            before = bench.run(tape=tape)
            with bench.restored():
                after = bench.call(lambda run: prepared.call(run.args, run.kwargs), tape=other())
            return difference(before, after).relative > limit

        return part(bench, pair, limit)
    culprits = part_graphs(bench, graphs, limit)
    if any(culprit.own > limit for culprit in culprits):
        return Parting(culprits)
    found = bisect(bench, lambda inner: _run(inner, prepare)[1], lambda a, b: difference(_plain(a), _plain(b)), limit)
    if not found.culprits:
        return Parting(culprits, found.layers)
    return replace(found, culprits=tuple(_placed(module, culprits) for module in found.culprits))


def _placed(module: Culprit, operations: Iterable[Culprit]) -> Culprit:
    """Return the operation in a module that errs which only one of the two runs has, or else the module itself."""
    within = (one for one in operations if f"{one.module}.".startswith(f"{module.module}."))
    operation = next(within, None)
    return module if operation is None else replace(operation, inherited=module.inherited, own=module.own)


def _plain(outputs: Any) -> list[Any]:
    """Return the leaves alone: a backend may hand back other containers."""
    return [leaf for _, leaf in leaves(outputs) if isinstance(leaf, (torch.Tensor, float, int))]


def _forward_only(bench: Bench) -> None:
    if bench.subject.entry is not bench.model:
        raise Unavailable("only a forward can be handed to it, not another method")


def export(bench: Bench) -> Prepared:
    """Prepare torch.export's module."""
    _forward_only(bench)
    run = bench.subject.fresh()
    program = torch.export.export(bench.model, run.args, run.kwargs, strict=False)
    module = program.module()
    return Prepared(lambda args, kwargs: module(*args, **kwargs), Graphs(program=module))


def compiled(backend: str) -> Prepare:
    """Return what prepares torch.compile with one of its backends."""

    def prepare(bench: Bench) -> Prepared:
        _forward_only(bench)
        if backend == "inductor" and not (shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")):
            raise Unavailable("needs a C++ compiler, and there is none")
        import torch._dynamo
        from torch._dynamo.backends.registry import lookup_backend

        inner = lookup_backend(backend)
        graphs = Graphs()
        reached = 0

        def spy(graph: Any, inputs: Any) -> Any:
            function = inner(graph, inputs)

            def run(*args: Any) -> Any:
                nonlocal reached
                reached += 1
                graphs.note(graph, args)
                return function(*args)

            return run

        torch._dynamo.reset()
        wrapped = torch.compile(bench.model, backend=spy)
        return Prepared(lambda args, kwargs: wrapped(*args, **kwargs), graphs, lambda: reached)

    return prepare


def threads(bench: Bench) -> Prepared:
    """Prepare the run on another number of threads."""
    now = torch.get_num_threads()
    other = 1 if now > 1 else 2

    def call(args: Any, kwargs: Any) -> Any:
        with _threads(other):
            return bench.subject.entry(*args, **kwargs)

    return Prepared(call, None)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def converted(dtype: torch.dtype | None = None, device: str | None = None) -> Prepare:
    """Return what prepares a copy of the model in another precision or on another device."""

    def prepare(bench: Bench) -> Prepared:
        if device == "cuda" and not torch.cuda.is_available():
            raise Unavailable("there is no GPU")
        model = copy.deepcopy(bench.model).to(device=device, dtype=dtype)
        subject = bench.standing_in(model)

        def change(_: str, tensor: torch.Tensor) -> torch.Tensor:
            return tensor.to(device=device, dtype=dtype if tensor.is_floating_point() else None)

        def call(args: Any, kwargs: Any) -> Any:
            args, kwargs = rebuilt((args, kwargs), change)
            return subject.entry(*args, **kwargs)

        if dtype is None:
            return Prepared(call, Graphs(), device=device)
        return Prepared(call, Graphs(), limit=max(TOLERANCES[dtype], 1e-5))

    return prepare


def onnxruntime(bench: Bench) -> Prepared:
    """Prepare an ONNX file of the model, run by onnxruntime."""
    _forward_only(bench)
    import importlib
    import io

    try:
        runtime = importlib.import_module("onnxruntime")
    except ImportError:
        raise Unavailable("needs the package onnxruntime") from None
    run = bench.subject.fresh()
    program: Any = torch.onnx.export(bench.model, run.args, kwargs=run.kwargs, dynamo=True, verbose=False)
    buffer = io.BytesIO()
    program.save(buffer)
    session = runtime.InferenceSession(buffer.getvalue(), providers=["CPUExecutionProvider"])

    def call(args: Any, kwargs: Any) -> Any:
        tensors = [leaf for _, leaf in leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        names = [item.name for item in session.get_inputs()]
        given = {name: tensor.cpu().numpy() for name, tensor in zip(names, tensors, strict=True)}
        return [torch.from_numpy(value) for value in session.run(None, given)]

    return Prepared(call, Graphs())


BACKENDS: Mapping[str, Prepare] = {
    "threads": threads,
    "export": export,
    "aot_eager": compiled("aot_eager"),
    "inductor": compiled("inductor"),
    "onnxruntime": onnxruntime,
    "float64": converted(torch.float64),
    "bfloat16": converted(torch.bfloat16),
    "cuda": converted(device="cuda"),
}
