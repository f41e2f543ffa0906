"""What the commands share that run models: their options, and the requests these make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from modellint.linting import tracing
from modellint.runtime import Request
from modellint.runtime.target import ARTEFACTS
from modellint.runtime.tracing import TIMEOUT
from modellint.settings import Settings

_Function = TypeVar("_Function", bound=Callable[..., Any])
_CALL = (
    click.option(
        "--input",
        "inputs",
        multiple=True,
        metavar="SPEC",
        help="An example input, such as float32[2,3,224,224], ids=int64[2,16]:0..30522, inputs.pt or steps=20.",
    ),
    click.option(
        "--mode",
        type=click.Choice(["as-is", "eval", "train"]),
        help="The mode to put the model into first.  [default: as-is]",
    ),
    click.option("--method", metavar="NAME", help="The method to run instead of forward."),
)
_LIMITS = (
    click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help=f"When a model counts as hung.  [default: {TIMEOUT:g}]",
    ),
    click.option(
        "--memory",
        type=click.IntRange(min=1),
        metavar="MB",
        help="How much memory a model may take.  [default: four fifths of what is free]",
    ),
    click.option(
        "--network/--no-network", default=False, show_default=True, help="Whether a model may use the network."
    ),
)


def call_options(command: _Function) -> _Function:
    """Add the options that say how a model is called."""
    return _with(_CALL, command)


def limit_options(command: _Function) -> _Function:
    """Add the options that say what a model may use."""
    return _with(_LIMITS, command)


def _with(options: Iterable[Callable[[_Function], _Function]], command: _Function) -> _Function:
    for option in reversed(tuple(options)):
        command = option(command)
    return command


def given(targets: Iterable[str], options: Mapping[str, Any]) -> list[Request]:
    """Return the requests for targets of the command line; beside a model, a file is read without its inputs."""
    targets = tuple(targets)
    alone = all(target.endswith(ARTEFACTS) for target in targets)
    return [
        Request(
            target,
            options["inputs"] if alone or not target.endswith(ARTEFACTS) else (),
            options["mode"] or "as-is",
            options["method"],
            options["timeout"] or TIMEOUT,
            options["memory"],
            options["network"],
            Path.cwd(),
        )
        for target in targets
    ]


def configured(settings: Settings, options: Mapping[str, Any]) -> list[Request]:
    """Return the models of the configuration; what the command line says counts for all of them."""
    names = ("inputs", "mode", "method", "timeout", "memory", "network")
    return tracing.configured(settings, **{name: options[name] for name in names})
