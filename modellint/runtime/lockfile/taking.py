"""Take fingerprints of models and files, and judge them against those that were locked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from modellint.catalog import ActiveRule
from modellint.diagnostic import Diagnostic, Position, Related, RuntimeDetails, Span
from modellint.runtime.inspect.judge import inspect_failure, span_of
from modellint.runtime.lockfile.comparing import compare, random_tensors
from modellint.runtime.lockfile.document import Locked
from modellint.runtime.lockfile.prints import Fingerprint
from modellint.runtime.process.pool import Pool
from modellint.runtime.specs import SpecError
from modellint.runtime.target import TargetError
from modellint.runtime.trace import frame_from_json
from modellint.runtime.tracing import Request, failed, job_of

_MISMATCH, _RANDOM = "ML706", "ML401"
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Taken:
    """What came out for one model: its fingerprint, or one line why there is none."""

    request: Request
    fingerprint: Fingerprint | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    problem: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return what the lockfile calls the model."""
        return self.request.name or self.request.target


def take(requests: Sequence[Request], rules: Mapping[str, ActiveRule], pool: Pool, *, jobs: int = 1) -> list[Taken]:
    """Return the fingerprint of every model; one that is built with other weights each time gets an ML401.

    Raises `PoolError` where no child process can be started at all.
    """
    with ThreadPoolExecutor(max(1, jobs)) as threads:
        return list(threads.map(lambda request: _take(request, rules, pool, jobs), requests))


def _take(request: Request, rules: Mapping[str, ActiveRule], pool: Pool, jobs: int) -> Taken:
    first = _build(request, rules, pool, jobs, 0)
    found = first.fingerprint
    if found is None or found.kind != "model":
        return first
    random = _random(found, request, rules, pool, jobs)
    if not random:
        return first
    told = _random_weights(request, replace(found, random=random), rules)
    return replace(first, fingerprint=replace(found, random=random), diagnostics=told)


def verify(
    locked: Mapping[str, Locked],
    requests: Sequence[Request],
    rules: Mapping[str, ActiveRule],
    pool: Pool,
    lockfile: Path,
    *,
    jobs: int = 1,
) -> list[Taken]:
    """Return what differs from the lockfile, for every request; its `name` is the entry's."""

    def one(request: Request) -> Taken:
        return _verify(locked[request.name or request.target], request, rules, pool, lockfile, jobs)

    with ThreadPoolExecutor(max(1, jobs)) as threads:
        return list(threads.map(one, requests))


def _verify(
    entry: Locked, request: Request, rules: Mapping[str, ActiveRule], pool: Pool, lockfile: Path, jobs: int
) -> Taken:
    first = _build(request, rules, pool, jobs, 0)
    found = first.fingerprint
    if found is None:
        return first
    result = compare(entry.fingerprint, found)
    diagnostics: tuple[Diagnostic, ...] = ()
    if found.kind == "model" and (result.changed or entry.fingerprint.random):
        random = _random(found, request, rules, pool, jobs)
        if random:
            found = replace(found, random=random)
            diagnostics = _random_weights(request, found, rules)
            # What is random anew each time is explained by that; what else differs is a finding of its own.
            known = replace(entry.fingerprint, random=tuple({*random, *entry.fingerprint.random}))
            result = compare(replace(known, outputs={}), found)
    if result.differences and (active := rules.get(_MISMATCH)) is not None:
        message = f"{first.name} is not what {lockfile.name} says: {'; '.join(result.differences)}"
        diagnostics += (_diagnostic(request, found, active, message, result.evidence, (lockfile, entry.row)),)
    # What could not be locked was said when it was locked.
    return replace(first, diagnostics=diagnostics, notes=tuple(f"{first.name}: {note}" for note in result.notes))


def _random(
    found: Fingerprint, request: Request, rules: Mapping[str, ActiveRule], pool: Pool, jobs: int
) -> tuple[str, ...]:
    """Build the model once more, from another seed, and return the tensors that are not the same."""
    second = _build(request, rules, pool, jobs, 1).fingerprint
    return random_tensors(found, second) if second is not None else ()


def _build(request: Request, rules: Mapping[str, ActiveRule], pool: Pool, jobs: int, build: int) -> Taken:
    root = (request.root or Path.cwd()).resolve()
    try:
        job, target, memory = job_of(request, root, rules, jobs)
    except (TargetError, SpecError) as error:
        return Taken(request, problem=str(error))
    outcome = pool.run({**job, "task": "fingerprint", "build": build, "weights_only": build > 0}, request.timeout, None)
    reply = outcome.reply or {}
    if "problem" in reply:
        return Taken(request, problem=reply["problem"])
    if "fingerprint" in reply:
        found = Fingerprint.from_json(reply["fingerprint"])
        return Taken(request, found, notes=found.notes)
    failure = failed(outcome, request, memory)
    return Taken(request, None, tuple(inspect_failure(target, failure, rules)), f"{target.text}: {failure.message}")


def _random_weights(request: Request, found: Fingerprint, rules: Mapping[str, ActiveRule]) -> tuple[Diagnostic, ...]:
    active = rules.get(_RANDOM)
    if active is None:
        return ()
    names = found.random
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    message = (
        f"two builds of {request.name or request.target} have different values in {len(names)} of "
        f"{len(found.tensors)} tensors, so nothing was loaded into them: {', '.join(names[:_SHOWN])}{more}"
    )
    evidence = {"random": list(names), "tensors": len(found.tensors)}
    return (_diagnostic(request, found, active, message, evidence, None),)


def _diagnostic(
    request: Request,
    found: Fingerprint,
    active: ActiveRule,
    message: str,
    evidence: dict[str, Any],
    entry: tuple[Path, int] | None,
) -> Diagnostic:
    """Return a finding at the line that defines the target, or at the start of a file of weights."""
    if found.home is not None:
        frame = frame_from_json(found.home)
        filename, span = frame.filename, span_of(frame)
    else:
        filename, span = str(Path(request.root or Path.cwd(), request.target).resolve()), Span.of(1, 1, 1, 2)
    rule = active.rule
    related = (Related(str(entry[0]), Position(entry[1], 1), "locked here"),) if entry is not None else ()
    return Diagnostic(
        code=rule.code,
        name=rule.name,
        severity=active.severity,
        confidence=rule.confidence,
        message=message,
        filename=filename,
        span=span,
        related=related,
        runtime=RuntimeDetails(request.target, None, None, None, evidence),
    )
