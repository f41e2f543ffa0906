"""Trace targets: the runtime pass as its callers use it. Never imports torch; the children do."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from modellint.catalog import ActiveRule
from modellint.diagnostic import Diagnostic
from modellint.runtime.artefacts.common import WITHOUT_TORCH
from modellint.runtime.inspect import inspect_failure, inspect_trace
from modellint.runtime.nondeterminism import find
from modellint.runtime.probes.result import SKIPPED, ProbeResult
from modellint.runtime.process.limits import available_memory
from modellint.runtime.process.pool import Outcome, Pool
from modellint.runtime.process.reply import Listener
from modellint.runtime.specs import InputSpec, SpecError, parse_specs
from modellint.runtime.target import Target, TargetError, parse_target
from modellint.runtime.trace import Failure, Trace, failure_from_json, to_json, trace_from_json

TIMEOUT = 300.0
"""Seconds that one target may take, unless said otherwise."""

_WITHOUT_DATA = 20.0
"""Seconds for a forward without data, after one with data took too much time or memory."""
_OTHER_MODE = "mode-dependent-graph"
"""The detector for whose sake a forward in the other mode is recorded."""


@dataclass(frozen=True, slots=True)
class Request:
    """One model to trace.

    `inputs` are input specs, one string each; `mode` is as-is, eval or train; `method` is called instead of
    the forward; `timeout` is in seconds, `memory` in megabytes beyond what the process has when it starts
    (None: four fifths of what is free). Relative files count from `root`, which is also the child's working
    directory. `name` is what a configuration calls the model. `probes` are run afterwards, for at most `budget`
    seconds; `quick`: at the least cost.
    """

    target: str
    inputs: tuple[str, ...] = ()
    mode: str = "as-is"
    method: str | None = None
    timeout: float = TIMEOUT
    memory: int | None = None
    network: bool = False
    root: Path | None = None
    name: str | None = None
    rules: Mapping[str, ActiveRule] | None = None
    probes: tuple[str, ...] = ()
    budget: float | None = None
    quick: bool = False


@dataclass(frozen=True, slots=True)
class TargetReport:
    """What came out of one request.

    `problem` is one line where the request itself cannot be served or the target failed: the caller's exit
    status is then 2. `notes` say what was done on the user's behalf; `output` is what the model printed. `peak` is the
    most memory that the child had resident, in bytes, with the libraries that it was forked with; None: not known.
    """

    request: Request
    diagnostics: tuple[Diagnostic, ...] = ()
    problem: str | None = None
    notes: tuple[str, ...] = ()
    output: str = ""
    trace: Trace | None = None
    peak: int | None = None

    def rows_that_ran(self) -> dict[str, set[int]]:
        """Return, by file, the rows on which an operation of a recorded forward ran; empty where none was.

        Not those with an operation that is nondeterministic on some device: deployed there it is a finding.
        """
        rows: dict[str, set[int]] = {}
        trace = self.trace
        if trace is None or trace.failure is not None or trace.level() != "record" or self.request.mode != "as-is":
            return rows
        recorded = [(op, site) for op in trace.ops if op.level == "record" and (site := trace.site(op.site))]
        for _, site in recorded:
            rows.setdefault(site.frame.filename, set()).add(site.frame.row)
        for op, site in recorded:
            if any(find(op, device) for device in ("cpu", "cuda")):
                rows[site.frame.filename].discard(site.frame.row)
        return rows


def trace_targets(
    requests: Sequence[Request],
    rules: Mapping[str, ActiveRule],
    *,
    jobs: int = 1,
    pool: Pool | None = None,
    listener: Listener | None = None,
    cancelled: threading.Event | None = None,
) -> Iterator[TargetReport]:
    """Trace the models of `requests`, `jobs` at a time, and yield the reports in the order of the requests.

    A request whose own `rules` are set is judged by those instead. `listener` is told what the children report on
    their way. Once `cancelled` is set, what still runs is ended and reported as interrupted. After Ctrl-C what is
    known so far is yielded before `KeyboardInterrupt` goes on. Raises `PoolError` where no child process can be started
    at all.
    """
    own = Pool() if pool is None else None
    runner = pool or own
    assert runner is not None
    cancelled = cancelled or threading.Event()
    threads = ThreadPoolExecutor(max(1, jobs))
    work = [threads.submit(_trace, request, rules, runner, jobs, cancelled, listener) for request in requests]
    done = 0
    try:
        for future in work:
            report = future.result()
            done += 1
            yield report
    except KeyboardInterrupt:
        cancelled.set()
        for future in work[done:]:
            if not future.cancel():
                yield future.result()
        raise
    finally:
        if done < len(work):  # Ctrl-C, or the caller has had enough: nobody waits for a model that hangs
            cancelled.set()
        threads.shutdown(cancel_futures=True)
        if own is not None:
            own.close()


def _trace(
    request: Request,
    rules: Mapping[str, ActiveRule],
    pool: Pool,
    jobs: int,
    cancelled: threading.Event,
    listener: Listener | None,
) -> TargetReport:
    root = (request.root or Path.cwd()).resolve()
    active = rules if request.rules is None else request.rules
    try:
        job, target, memory = job_of(request, root, active, jobs)
    except (TargetError, SpecError) as error:
        return TargetReport(request, problem=str(error))
    if target.is_artefact and request.inputs:
        return TargetReport(request, problem=f"{target.text}: is read and not run, so it takes no --input")
    light = target.file is not None and target.file.suffix in WITHOUT_TORCH
    outcome = pool.run(job, request.timeout, cancelled, listener, afresh=light)
    reply = outcome.reply or {}
    if "problem" in reply:
        return TargetReport(request, problem=reply["problem"], output=outcome.output)
    if "trace" not in reply or (reply["trace"].get("failure") or {}).get("kind") == "memory":
        if (trace := _without_data(job, _why(outcome, request, memory), request, pool, cancelled)) is not None:
            found = tuple(inspect_trace(trace, active))
            return TargetReport(request, found, None, trace.notes, outcome.output, trace)
    if "trace" in reply:
        trace = trace_from_json(reply["trace"])
        problem = f"{target.text}: {trace.failure.message}" if trace.failure else None
        if reply.get("unfinished"):
            # The child went away in the middle of the probes.
            why = failed(replace(outcome, reply=None), request, memory)
            trace = replace(trace, probes=_with_the_rest(trace.probes, request.probes, why.message))
            problem = f"{target.text}: {why.message}, in the middle of the probes"
        found = tuple(inspect_trace(trace, active))
        return TargetReport(request, found, problem, trace.notes, outcome.output, trace, reply.get("peak"))
    failure = failed(outcome, request, memory)
    diagnostics = tuple(inspect_failure(target, failure, active))
    return TargetReport(request, diagnostics, f"{target.text}: {failure.message}", output=outcome.output)


def _with_the_rest(results: Sequence[ProbeResult], names: Sequence[str], why: str) -> tuple[ProbeResult, ...]:
    """Return the results with those that are missing as skipped."""
    known = {result.probe for result in results}
    return (*results, *(ProbeResult(name, SKIPPED, why) for name in names if name not in known))


def _why(outcome: Outcome, request: Request, memory: int | None) -> Failure:
    """Return why a real forward gave no trace."""
    failure = (outcome.reply or {}).get("trace", {}).get("failure")
    return failure_from_json(failure) if failure else failed(outcome, request, memory)


def _without_data(
    job: dict[str, Any], why: Failure, request: Request, pool: Pool, cancelled: threading.Event
) -> Trace | None:
    """Try once more on the meta device where memory or time ran out; return None where that brings nothing either."""
    if why.kind not in ("memory", "hung") or cancelled.is_set():
        return None
    second = pool.run({**job, "without_data": why.message}, min(request.timeout, _WITHOUT_DATA), cancelled)
    reply = second.reply or {}
    return trace_from_json(reply["trace"]) if "trace" in reply else None


def job_of(
    request: Request, root: Path, rules: Mapping[str, ActiveRule], jobs: int
) -> tuple[dict[str, Any], Target, int | None]:
    """Return the job for a child, its target, and the memory it may use in megabytes.

    Raises `TargetError` and `SpecError`.
    """
    target = parse_target(request.target, root)
    specs = parse_specs(request.inputs, root)
    memory = request.memory or (available_memory() or 0) // max(1, jobs) or None
    return _job(request, target, specs, root, memory, rules), target, memory


def failed(outcome: Outcome, request: Request, memory: int | None) -> Failure:
    """Return why a child brought no result."""
    reply = outcome.reply or {}
    return failure_from_json(reply["failure"]) if "failure" in reply else _gone(outcome, request, memory)


def _job(
    request: Request,
    target: Target,
    specs: Sequence[InputSpec],
    root: Path,
    memory: int | None,
    rules: Mapping[str, ActiveRule],
) -> dict[str, Any]:
    return {
        "target": {**to_json(replace(target, file=None)), "module": target.module, "file": str(target.file or "")},
        "cwd": str(root),
        "mode": request.mode,
        "method": request.method,
        "inputs": [spec.to_json() for spec in specs],
        "memory": memory,
        "network": request.network,
        "second_forward": other_mode_seconds(rules),
        "probes": list(request.probes),
        "budget": request.budget,
        "quick": request.quick,
    }


def other_mode_seconds(rules: Mapping[str, ActiveRule]) -> float:
    """Return how many seconds a forward may take that is then recorded in the other mode too; 0.0: it never is."""
    limits = [rule.options.get("max-seconds", 0.0) for rule in rules.values() if rule.rule.detector == _OTHER_MODE]
    return max(limits, default=0.0)


def _gone(outcome: Outcome, request: Request, memory: int | None) -> Failure:
    """Say how a child went away without an answer."""
    last = _last_line(outcome.output)
    if outcome.ended == "cancelled":
        return Failure("interrupted", "was interrupted")
    if outcome.ended == "timeout":
        return Failure("hung", f"gave no answer within {request.timeout:g} s and was stopped (--timeout){last}")
    kind, _, number = outcome.ended.partition(" ")
    if kind == "exit":
        return Failure("exited", f"ended the process with exit status {number} before it was traced{last}")
    name = signal.Signals(int(number)).name if int(number) in set(signal.Signals) else f"signal {number}"
    if name in ("SIGKILL", "SIGABRT") and ("alloc" in outcome.output or name == "SIGKILL"):
        limit = f" (limit {memory} MB beyond the start, --memory)" if memory else ""
        return Failure("memory", f"was killed by {name}, most likely for want of memory{limit}{last}")
    return Failure("crashed", f"crashed the interpreter with {name}{last}")


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f"; the last line it printed: {lines[-1][:200]}" if lines else ""


def default_jobs(targets: int) -> int:
    """Return how many targets to trace at a time: a model uses several cores by itself."""
    return max(1, min(targets, (os.cpu_count() or 1) // 2 or 1, 4))
