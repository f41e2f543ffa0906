"""A capture as the trace that rules read."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from modellint.runtime.capture.ladder import Capture
from modellint.runtime.capture.sites import SiteTable
from modellint.runtime.trace import Frame, Trace
from modellint.runtime.worker.inputs import Arguments, batch_size, device_of


def assembled(
    found: Capture,
    model: nn.Module,
    sites: SiteTable,
    *,
    target: str,
    home: Frame,
    arguments: Arguments | None,
    **told: Any,
) -> Trace:
    """Return the trace of what was captured; `told` are further fields of it, which the capture does not know."""
    return Trace(
        target=target,
        home=home,
        torch_version=torch.__version__,
        device=str(device_of(model)),
        root_training=model.training,
        levels=tuple(found.levels),
        modules=tuple(found.modules),
        ops=tuple(found.ops),
        sites=sites.sites,
        hidden_draws=tuple(found.hidden_draws),
        mode_changes=tuple(found.mode_changes),
        failure=found.failure,
        batch=batch_size(arguments) if arguments is not None else None,
        graph_bytes=found.graph_bytes,
        graph_difference=found.graph_difference,
        **told,
    )
