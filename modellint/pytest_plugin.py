"""A pytest plugin: `assert_inference_ready`, to import or to ask for as a fixture. Light until it is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    import torch


class AssertInferenceReady(Protocol):
    """What the fixture `assert_inference_ready` is."""

    def __call__(
        self, model: torch.nn.Module, inputs: Any, *, probes: Sequence[str] = (), ignore: Sequence[str] = ()
    ) -> None:
        """See the function of that name."""


def assert_inference_ready(
    model: torch.nn.Module, inputs: Any, *, probes: Sequence[str] = (), ignore: Sequence[str] = ()
) -> None:
    """Assert that one forward of `model` shows nothing that stands in the way of inference.

    `inputs` are the arguments of one forward, on the model's device and of any shapes that it takes: a tuple or list
    of positional ones, a dict of keyword arguments, or anything else as the only argument. A batch of at least two
    samples (three for the probe `neighbours`) shows most. `probes` names experiments to run as well, such as
    `("repeat", "neighbours", "alone")`; `ignore` names rules to leave out. Which findings count is up to the
    configuration of the working directory (`fail-on`, by default warnings and errors).

    The model and everything else are left as they were. Cost: as `modellint.inspect`; a probe that finds nothing
    takes 2 to 6 forwards more.

    Raises `AssertionError` with the findings as text, `TypeError` where `model` is no `torch.nn.Module`, and
    `ValueError` for an unknown probe or rule, for `reload`, for lazy modules and a broken configuration.
    """
    __tracebackhide__ = True
    from modellint.api import inspect_call, settings_for
    from modellint.report import Report, render
    from modellint.runtime.probes.names import parse_probes

    args, kwargs = _split(inputs)
    settings = settings_for(ignore)
    names = parse_probes(",".join(probes)) if probes else ()
    found = [
        diagnostic
        for diagnostic in inspect_call(model, args, kwargs, settings=settings, probes=names)
        if diagnostic.severity.rank >= max(settings.fail_on.rank, 1)
    ]
    if found:
        text = "".join(render("text", Report(found, [type(model).__name__], unit="model")))
        raise AssertionError(f"{type(model).__name__} is not ready for inference\n\n{text}")


@pytest.fixture(name="assert_inference_ready", scope="session")
def _fixture() -> AssertInferenceReady:
    """Assert that one forward of a model shows nothing that stands in the way of inference."""
    return assert_inference_ready


def _split(inputs: Any) -> tuple[Sequence[Any], Mapping[str, Any]]:
    if isinstance(inputs, Mapping):
        return (), inputs
    if type(inputs) in (tuple, list):
        return inputs, {}
    return (inputs,), {}
