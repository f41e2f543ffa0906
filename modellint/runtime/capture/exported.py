"""`torch.export`: a graph with lines and module paths, without any data: for models too big to run, and artefacts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from modellint.runtime.capture import adapter
from modellint.runtime.capture.functions import scalars
from modellint.runtime.capture.sites import SiteTable
from modellint.runtime.trace import INPUT, RANDOM, Op

_LINE = re.compile(r'File "(?P<file>[^"]+)", line (?P<row>\d+), in (?P<function>\S+)')


def export(model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], sites: SiteTable) -> list[Op]:
    """Export `model` with tensors that have no data and return the operations of the graph.

    Raises whatever torch.export raises.
    """
    program = torch.export.export(model, args, dict(kwargs), strict=False)
    return operations(program, sites)


def operations(program: torch.export.ExportedProgram, sites: SiteTable) -> list[Op]:
    """Return the operations of an exported program, with their lines, modules and what they depend on."""
    inputs = set(program.graph_signature.user_inputs)
    taints: dict[torch.fx.Node, int] = {}
    ops = []
    for node in program.graph.nodes:
        taint = INPUT if node.op == "placeholder" and node.name in inputs else 0
        for other in node.all_input_nodes:
            taint |= taints.get(other, 0)
        if node.op == "call_function" and hasattr(node.target, "_schema"):
            op = _operation(node, taint, sites)
            ops.append(op)
            taint |= RANDOM if op.live else 0
        taints[node] = taint
    return ops


def _operation(node: torch.fx.Node, taint: int, sites: SiteTable) -> Op:
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    first = next((other.meta.get("val") for other in node.all_input_nodes), node.meta.get("val"))
    tensor = first if isinstance(first, torch.Tensor) else None
    return Op(
        name=str(node.target),
        module=stack[-1][0] if stack else "",
        site=sites.written(_LINE.findall(node.meta.get("stack_trace") or "")),
        args=scalars(adapter.schema_names(node.target), node.args, node.kwargs),
        taint=taint,
        draws=adapter.is_seeded(node.target),
        shape=tuple(int(size) for size in tensor.shape) if tensor is not None else (),
        dtype=str(tensor.dtype).removeprefix("torch.") if tensor is not None else None,
        device=tensor.device.type if tensor is not None else None,
        level="export",
    )
