"""One job in the child: load, make inputs, capture, answer with a trace or with one line why not."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from modellint.runtime.artefacts.reading import read_artefact
from modellint.runtime.process.limits import cut_network, limit_memory, peak_memory
from modellint.runtime.target import Target
from modellint.runtime.trace import Failure, Frame, to_json

Reply = Callable[[Mapping[str, Any]], None]


def run(job: Mapping[str, Any], reply: Reply) -> None:
    """Do one job and reply once: `trace`, `problem` (the user's request does not fit) or `failure`."""
    cwd = Path(job["cwd"])
    target = _target(job["target"])
    if target.is_artefact and job.get("task") != "fingerprint":
        reply(read_artefact(target, cwd, job["probes"]))
        return
    from modellint.runtime.capture.ladder import is_memory, is_network, shortened
    from modellint.runtime.capture.sites import SiteTable
    from modellint.runtime.worker.inputs import InputProblem
    from modellint.runtime.worker.load import LoadProblem, project_roots

    sites = SiteTable(project_roots(target, cwd))
    stage = ["importing the target"]
    try:
        if job.get("task") == "fingerprint":
            from modellint.runtime.worker.fingerprint import fingerprint

            reply({"fingerprint": fingerprint(job, target, sites, stage).to_json()})
        else:
            trace = _trace(job, target, cwd, sites, stage, reply)
            reply({"trace": trace, "peak": peak_memory()})
    except (LoadProblem, InputProblem) as problem:
        reply({"problem": str(problem)})
    except SystemExit as error:
        reply(
            _failure(Failure("exited", f"{stage[0]} called sys.exit({error.code!r})", *sites.traceback(error)), target)
        )
    except BaseException as error:
        kind = "memory" if is_memory(error) else "network" if is_network(error) else "raised"
        verb = "ran out of memory:" if kind == "memory" else "raised"
        message = f"{stage[0]} {verb} {shortened(error)}{_hint(kind, job)}"
        frame, project = sites.traceback(error)
        if isinstance(error, SyntaxError) and error.filename and error.lineno:
            frame, project = Frame(error.filename, error.lineno, error.lineno, None, ""), None
        reply(_failure(Failure(kind, message, frame, project), target))


def _failure(failure: Failure, target: Target) -> dict[str, Any]:
    return {"failure": to_json(failure), "file": str(target.file) if target.file else None}


def _hint(kind: str, job: Mapping[str, Any]) -> str:
    """Say what to do about an error whose cause is that the child has no network."""
    if kind != "network" or job["network"]:
        return ""
    return " (the network is cut off; give local weights, or allow it with --network)"


def _target(data: Mapping[str, Any]) -> Target:
    return Target(data["text"], data["name"], data["module"], Path(data["file"]) if data["file"] else None)


def _trace(
    job: Mapping[str, Any], target: Target, cwd: Path, sites: Any, stage: list[str], reply: Reply
) -> dict[str, Any]:
    from modellint.runtime.capture.ladder import accepts, capture
    from modellint.runtime.capture.without_data import capture_without_data
    from modellint.runtime.worker import derive, inputs
    from modellint.runtime.worker.assembled import assembled
    from modellint.runtime.worker.environment import environment
    from modellint.runtime.worker.lazy import count_lazy
    from modellint.runtime.worker.load import load_again
    from modellint.runtime.worker.prepare import prepare, prepare_without_data

    without_data = job.get("without_data")
    ready = (prepare_without_data if without_data else prepare)(job, target, sites, stage)
    model, loaded, subject, arguments = ready.model, ready.loaded, ready.subject, ready.arguments
    described = inputs.describe_entry(ready.signature_of)
    why_not = f"no input was given for {described}"
    if without_data and subject is not None:
        found = capture_without_data(subject, without_data)
    else:
        found = capture(
            subject,
            model,
            sites,
            ready.built,
            method=ready.method,
            given=ready.given,
            why_not=why_not,
            second_forward=job["second_forward"],
        )
    if found.failure is not None:
        message = found.failure.message + _hint(found.failure.kind, job)
        found.failure = replace(found.failure, message=message)
    suggestion = ""
    if not without_data and not found.levels[0].answered and ready.method == "forward" and not count_lazy(model):
        suggestion = derive.suggestion(
            model, ready.signature_of, lambda guess: accepts(model, guess.args, guess.kwargs)
        )
    trace: dict[str, Any] = to_json(
        assembled(
            found,
            model,
            sites,
            target=target.text,
            home=loaded.home,
            arguments=arguments,
            notes=ready.notes,
            signature=described,
            suggestion=suggestion,
            environment=environment(inputs.device_of(model)),
        )
    )
    if subject is not None and found.mode is not None and job["probes"]:
        stage[0] = "a probe"
        again = partial(load_again, target, job["mode"], cwd, loaded)
        _probe(job, subject, found.mode, again, trace, reply)
    return trace


def _probe(
    job: Mapping[str, Any], subject: Any, mode: str, again: Callable[[], Any], trace: dict[str, Any], reply: Reply
) -> None:
    """Run the probes and add them to the trace; each is sent at once, so that it is known whatever comes after."""
    from modellint.runtime.probes.run import run_probes

    sites = subject.sites
    reply({"part": "trace", "trace": trace})
    told = len(trace.get("sites", ()))
    results = run_probes(
        subject,
        job["probes"],
        mode,
        job["budget"],
        lambda name: reply({"part": "starting", "probe": name}),
        again,
        quick=job["quick"],
    )
    trace["probes"] = []
    for result in results:
        found = to_json(result)
        trace["probes"].append(found)
        fresh = sites.sites[told:]
        told += len(fresh)
        reply({"part": "probe", "result": found, "sites": to_json(fresh)})
    trace["sites"] = to_json(sites.sites)


def main(job_fd: int, reply_fd: int) -> None:
    """Read one job, answer it, and leave without running anybody's exit handlers."""
    pid = os.getpid()
    with open(job_fd, encoding="utf-8", closefd=False) as stream:
        job = json.loads(stream.readline())
    if not job["network"] and cut_network():
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    limit_memory(job["memory"])
    os.chdir(job["cwd"])
    sys.argv = [job["target"]["file"] or job["target"]["module"]]
    warnings.simplefilter("ignore")

    def reply(message: Mapping[str, Any]) -> None:
        if os.getpid() != pid:
            # The model forked, and its child came back to us: only the first process answers.
            os._exit(0)
        data = (json.dumps(message) + "\n").encode()
        while data:
            data = data[os.write(reply_fd, data) :]

    run(job, reply)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
