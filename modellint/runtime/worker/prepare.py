"""What every job begins with: the model, the way it is called, and the arguments it is called with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from modellint.runtime.capture.sites import SiteTable
from modellint.runtime.capture.subject import Subject
from modellint.runtime.capture.without_data import to_meta
from modellint.runtime.specs import InputSpec
from modellint.runtime.target import Target
from modellint.runtime.worker import derive, inputs
from modellint.runtime.worker.lazy import count_lazy, materialise
from modellint.runtime.worker.load import Loaded, load, noting_construction


@dataclass(frozen=True, slots=True)
class Prepared:
    """A model that is ready to be called. `subject` is None where there is no input; `given`: the user named it."""

    loaded: Loaded
    method: str
    signature_of: Callable[..., Any]
    arguments: inputs.Arguments | None
    given: bool
    subject: Subject | None
    built: Mapping[int, int | None]
    alive: list[Any]
    notes: tuple[str, ...]

    @property
    def model(self) -> nn.Module:
        """Return the model itself."""
        return self.loaded.model


def prepare(
    job: Mapping[str, Any],
    target: Target,
    sites: SiteTable,
    stage: list[str],
    before_inputs: Callable[[], None] = lambda: None,
) -> Prepared:
    """Load the model and make its arguments; `stage[0]` is kept saying what is being done.

    `before_inputs` is called between the two.

    Raises `LoadProblem`, `InputProblem`, and whatever the user's own code raises.
    """
    built: dict[int, int | None] = {}
    alive: list[Any] = []
    with noting_construction(sites, built, alive):
        loaded = load(target, job["mode"], Path(job["cwd"]), stage)
    model = loaded.model
    method = job["method"] or "forward"
    entry = model if method == "forward" else getattr(model, method, None)
    if not callable(entry):
        raise inputs.InputProblem(f"{target.text}: {type(model).__name__} has no method {method!r}")
    signature_of = model.forward if method == "forward" else entry
    stage[0] = "making the example inputs"
    before_inputs()
    specs = [InputSpec.from_json(item) for item in job["inputs"]]
    if specs:
        arguments: inputs.Arguments | None = inputs.from_specs(specs, signature_of, inputs.device_of(model))
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
    return Prepared(loaded, method, signature_of, arguments, given, subject, built, alive, tuple(notes))


def prepare_without_data(job: Mapping[str, Any], target: Target, sites: SiteTable, stage: list[str]) -> Prepared:
    """Do as `prepare`, with a model and arguments on the meta device.

    The model is built there where it can be: that takes neither memory nor time. Raises as `prepare` does, and
    `InputProblem` where there is no input.
    """
    try:
        with torch.device("meta"):
            ready = prepare(job, target, sites, stage)
    except Exception:
        ready = prepare(job, target, sites, stage)
    if ready.subject is None:
        raise inputs.InputProblem(f"{target.text}: no input was given")
    ready.model.to("meta")
    args, kwargs = to_meta((ready.subject.args, ready.subject.kwargs))
    return replace(ready, subject=replace(ready.subject, args=args, kwargs=kwargs))
