"""One job in the child: load, make inputs, capture, answer with a trace or with one line why not."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from modellint.runtime.process.limits import cut_network, limit_memory
from modellint.runtime.specs import InputSpec
from modellint.runtime.target import Target
from modellint.runtime.trace import Failure, Frame, to_json

Reply = Callable[[Mapping[str, Any]], None]


def run(job: Mapping[str, Any], reply: Reply) -> None:
    """Do one job and reply once: `trace`, `problem` (the user's request does not fit) or `failure`."""
    from modellint.runtime.capture.ladder import is_memory, is_network, shortened
    from modellint.runtime.capture.sites import SiteTable
    from modellint.runtime.worker.inputs import InputProblem
    from modellint.runtime.worker.load import LoadProblem, project_roots

    cwd = Path(job["cwd"])
    target = _target(job["target"])
    sites = SiteTable(project_roots(target, cwd))
    stage = ["importing the target"]
    try:
        reply({"trace": _trace(job, target, cwd, sites, stage)})
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


def _trace(job: Mapping[str, Any], target: Target, cwd: Path, sites: Any, stage: list[str]) -> dict[str, Any]:
    import torch

    from modellint.runtime.capture.ladder import accepts, capture
    from modellint.runtime.capture.subject import Subject
    from modellint.runtime.probes.result import ProbeResult
    from modellint.runtime.probes.run import run_probes
    from modellint.runtime.trace import Trace
    from modellint.runtime.worker import derive, inputs
    from modellint.runtime.worker.lazy import count_lazy, materialise
    from modellint.runtime.worker.load import load, load_again, noting_construction

    built: dict[int, int | None] = {}
    alive: list[Any] = []
    with noting_construction(sites, built, alive):
        loaded = load(target, job["mode"], cwd, stage)
    model = loaded.model
    method = job["method"] or "forward"
    entry = model if method == "forward" else getattr(model, method, None)
    if not callable(entry):
        raise inputs.InputProblem(f"{target.text}: {type(model).__name__} has no method {method!r}")
    signature_of = model.forward if method == "forward" else entry
    stage[0] = "making the example inputs"
    specs = [InputSpec.from_json(item) for item in job["inputs"]]
    arguments = None
    if specs:
        arguments = inputs.from_specs(specs, signature_of, inputs.device_of(model))
    else:
        arguments = inputs.from_example(loaded.module, model, signature_of)
    given = arguments is not None
    notes = list(loaded.notes)
    if arguments is None and (arguments := derive.from_configuration(model, signature_of)) is not None:
        notes.append(f"{target.text}: inputs from {arguments.origin}")
    if arguments is None and not inputs.needs_input(signature_of):
        arguments = inputs.Arguments((), {}, "no input is needed")
    stage[0] = "the forward" if method == "forward" else method
    subject = None
    if arguments is not None:
        subject = Subject(model, entry, arguments.args, arguments.kwargs, sites, built)
        if count_lazy(model) and (note := materialise(model, subject.call)):
            notes.append(f"{target.text}: {note}")
    described = inputs.describe_entry(signature_of)
    why_not = f"no input was given for {described}"
    found = capture(
        subject, model, sites, built, method=method, given=given, why_not=why_not, second_forward=job["second_forward"]
    )
    if found.failure is not None:
        message = found.failure.message + _hint(found.failure.kind, job)
        found.failure = replace(found.failure, message=message)
    probes: tuple[ProbeResult, ...] = ()
    if subject is not None and found.mode is not None and job["probes"]:
        found_by = run_probes(
            subject,
            job["probes"],
            found.mode,
            job["budget"],
            lambda name: None,
            lambda: load_again(target, job["mode"], cwd, loaded),
            quick=job["quick"],
        )
        probes = tuple(found_by)
    suggestion = ""
    if not found.levels[0].answered and method == "forward" and not count_lazy(model):
        suggestion = derive.suggestion(model, signature_of, lambda guess: accepts(model, guess.args, guess.kwargs))
    trace: dict[str, Any] = to_json(
        Trace(
            target=target.text,
            home=loaded.home,
            torch_version=torch.__version__,
            device=str(inputs.device_of(model)),
            root_training=model.training,
            levels=tuple(found.levels),
            modules=tuple(found.modules),
            ops=tuple(found.ops),
            sites=sites.sites,
            hidden_draws=tuple(found.hidden_draws),
            failure=found.failure,
            batch=inputs.batch_size(arguments) if arguments is not None else None,
            notes=tuple(notes),
            signature=described,
            suggestion=suggestion,
            mode_changes=tuple(found.mode_changes),
            graph_bytes=found.graph_bytes,
            probes=probes,
        )
    )
    return trace


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
