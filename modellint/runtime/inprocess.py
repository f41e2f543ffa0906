"""Trace a model that is at hand, in the process that holds it: what the Python API stands on. Imports torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from torch import nn

from modellint.catalog import ActiveRule
from modellint.runtime.capture.facts import qualified
from modellint.runtime.capture.ladder import capture
from modellint.runtime.capture.sites import SiteTable, definition
from modellint.runtime.capture.subject import Subject
from modellint.runtime.probes.result import ProbeResult
from modellint.runtime.probes.run import run_probes
from modellint.runtime.trace import Frame, Trace
from modellint.runtime.tracing import other_mode_seconds
from modellint.runtime.worker.assembled import assembled
from modellint.runtime.worker.inputs import Arguments, describe_entry
from modellint.runtime.worker.lazy import count_lazy

_BUILDS_AGAIN = "reload"


def observe(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    rules: Mapping[str, ActiveRule],
    probes: Sequence[str],
    caller: FrameType,
) -> Trace:
    """Return the trace of `model(*args, **kwargs)`; the model is left as it was.

    `caller` is a frame of ours or of whoever called us: findings without a line of their own stand there. Raises
    `TypeError` and `ValueError` for what cannot be inspected here.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"a torch.nn.Module is inspected, not {type(model).__name__}")
    if count_lazy(model):
        raise ValueError(f"{type(model).__name__} still waits for its first forward (lazy modules): run one first")
    if _BUILDS_AGAIN in probes:
        raise ValueError(f"the probe {_BUILDS_AGAIN} builds the model again: use modellint trace --probe")
    sites = SiteTable((Path.cwd().resolve(),))
    subject = Subject(model, model, args, kwargs, sites, {})
    found = capture(
        subject,
        model,
        sites,
        {},
        method="forward",
        given=True,
        why_not="",
        second_forward=other_mode_seconds(rules),
    )
    results: tuple[ProbeResult, ...] = ()
    if found.mode is not None:
        results = tuple(run_probes(subject, probes, found.mode, None, _silent, lambda: model, quick=False))
    return assembled(
        found,
        model,
        sites,
        target=qualified(type(model)),
        home=_home(model, sites, caller),
        arguments=Arguments(args, kwargs, "the caller"),
        signature=describe_entry(model.forward),
        probes=results,
    )


def _silent(name: str) -> None:
    """Nobody is told which probe begins."""


def _home(model: nn.Module, sites: SiteTable, caller: FrameType) -> Frame:
    """Return where the model's class is defined or, for one of torch's, where we were called."""
    index = sites.site(caller)
    called = sites.sites[index].frame if index is not None else None
    if called is not None and type(model).__module__.startswith("torch."):
        return called
    return definition(type(model), Path(called.filename if called is not None else caller.f_code.co_filename))
