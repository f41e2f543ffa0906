"""The Python API: inspect a model that is at hand, in this process. Imports torch when it is called, not before."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modellint.diagnostic import Diagnostic
from modellint.linting import refine
from modellint.runtime.inspect import inspect_trace
from modellint.settings import Overrides, Resolver, Settings

if TYPE_CHECKING:
    import torch


def inspect(model: torch.nn.Module, /, *inputs: Any, **kwargs: Any) -> list[Diagnostic]:
    """Run `model(*inputs, **kwargs)` under observation and return what is wrong with it as a model for inference.

    The model is inspected in the mode it is in: call `eval()` first, as a deployment does. `inputs` and `kwargs` are
    those of one forward, of any shapes that it takes, on the model's device; a first axis of at least two samples
    shows most. The rules and their options come from the configuration of the working directory, and comments such as
    `# modellint: ignore[ML601]` count. The findings are sorted by file, line and code; a forward that raises is the
    finding ML003 and no exception.

    Everything touched is put back: the mode of every module, parameters, gradients, buffers, attributes, random
    states and flags of torch; the inputs are copied first. Not to be called while another thread runs a model.

    Cost: one forward under observation (1.2 times a plain one, twice on a tiny net), a second one where something
    drew random numbers, and one in the other mode where the first took less than the option `max-seconds` of ML608.

    Raises `TypeError` where `model` is no `torch.nn.Module`, `ValueError` where it still waits for the first forward
    of a lazy module (running one would change it), and `SettingsError` or `DocumentError`, both of which are
    `ValueError`s, where the configuration is broken.
    """
    return inspect_call(model, inputs, kwargs, settings=settings_for())


def settings_for(ignore: Sequence[str] = ()) -> Settings:
    """Return the settings of the working directory without the rules of `ignore` (codes, names, families).

    Raises `SettingsError` and `DocumentError`.
    """
    return Resolver(Overrides(ignore=tuple(ignore))).for_folder(Path.cwd())


def inspect_call(
    model: torch.nn.Module,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    settings: Settings,
    probes: Sequence[str] = (),
) -> list[Diagnostic]:
    """Do as `inspect` does with the `settings` given, and run the `probes` afterwards.

    Raises as `inspect` does, and `ValueError` for a probe that has to build the model again.
    """
    from modellint.runtime.inprocess import observe

    trace = observe(model, tuple(args), dict(kwargs), settings.rules, probes, sys._getframe(1))
    return refine(inspect_trace(trace, settings.rules), settings)
