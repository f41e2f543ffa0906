"""`torch.fx` symbolic tracing: needs no input, and follows the optional arguments that one run left out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.fx
from torch import nn

from modellint.runtime.capture.facts import mode_op
from modellint.runtime.capture.functions import FUNCTION_NAMES, function_scalars
from modellint.runtime.capture.names import Names
from modellint.runtime.capture.recorder import Recorder
from modellint.runtime.capture.sites import SiteTable
from modellint.runtime.trace import INPUT, RANDOM, Op

_METHOD_DRAWS = (
    "bernoulli", "bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "multinomial", "normal_",
    "random_", "uniform_",
)  # fmt: skip
_FUNCTION_DRAWS = (
    *_METHOD_DRAWS, "binomial", "normal", "poisson", "rand_like", "randint_like", "randn_like", "rrelu_",
)  # fmt: skip


class Unfollowed(Exception):
    """Symbolic tracing cannot follow this forward; the message says why, on one line."""


class _Tracer(torch.fx.Tracer):
    def __init__(self, names: Names, sites: SiteTable, built: Mapping[int, int | None]) -> None:
        super().__init__()
        self.ops: list[Op] = []
        self.calls: dict[str, int | None] = {}
        self._names = names
        self._sites = sites
        self._built = built
        self._modules: list[str] = [""]

    def call_module(self, m: nn.Module, forward: Any, args: Any, kwargs: Any) -> Any:
        path, _ = self._names.path(m, None)
        self.calls.setdefault(path, self._sites.site(sys._getframe(1)))
        self._modules.append(path)
        try:
            return super().call_module(m, forward, args, kwargs)
        finally:
            self._modules.pop()

    def path_of_module(self, mod: nn.Module) -> str:
        path, registered = self._names.path(mod, None)
        if not registered:
            raise NameError(f"{path} is not a submodule")
        return path

    def create_node(
        self, kind: str, target: Any, args: Any, kwargs: Any, name: Any = None, type_expr: Any = None
    ) -> torch.fx.Node:
        node = super().create_node(kind, target, args, kwargs, name, type_expr)
        taint = INPUT if kind == "placeholder" else 0
        for other in node.all_input_nodes:
            taint |= other.meta.get("modellint", 0)
        site = self._sites.site(sys._getframe(1))
        for op in self._operations(kind, target, args, kwargs, taint, site):
            if op.live:
                taint |= RANDOM
            self.ops.append(op)
        node.meta["modellint"] = taint
        return node

    def _operations(self, kind: str, target: Any, args: Any, kwargs: Any, taint: int, site: int | None) -> list[Op]:
        if kind == "call_module":
            found = []
            root = self.root.get_submodule(target)
            for below, module in root.named_modules():
                path = f"{target}.{below}".rstrip(".")
                if (op := mode_op(module)) is not None:
                    scalars = {k: v for k, v in op[1].items() if isinstance(v, (bool, int, float))}
                    found.append(Op(op[0], path, site, scalars, taint=taint, draws=op[0] != "batch_norm", level="fx"))
            return found
        if kind == "call_function":
            name = FUNCTION_NAMES.get(target)
            full = f"torch.{getattr(target, '__name__', target)}"
            if name is not None:
                scalars = function_scalars(target, name, full, args, kwargs)
                return [Op(full, self._modules[-1], site, scalars, taint=taint, draws="norm" not in name, level="fx")]
            if getattr(target, "__name__", "") in _FUNCTION_DRAWS:
                return [Op(full, self._modules[-1], site, taint=taint, draws=True, level="fx")]
        if kind == "call_method" and target in _METHOD_DRAWS:
            return [Op(f"torch.Tensor.{target}", self._modules[-1], site, taint=taint, draws=True, level="fx")]
        return []


def follow(
    model: nn.Module,
    method: str,
    sites: SiteTable,
    built: Mapping[int, int | None],
    before_writing: Callable[[torch.Tensor], None],
) -> tuple[list[Op], dict[str, int | None]]:
    """Return the operations of the symbolic graph of a method that rules can judge, and where modules are called.

    Tensors that do not depend on an input are computed while tracing, so draws on them are recorded as well.
    Raises `Unfollowed`.
    """
    names = Names(model)
    tracer = _Tracer(names, sites, built)
    tracer.traced_func_name = method
    recorder = Recorder(model, names, sites, built, before_writing)
    try:
        with torch.no_grad(), recorder.recording(()):
            tracer.trace(model)
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise Unfollowed(reason) from error
    # Of what the recorder saw, only real kernels: functions of proxies are in the graph already.
    baked = [op for op in recorder.ops if op.name.startswith("aten.") and op.live]
    drawn = [Op(op.name, op.module, op.site, op.args, op.taint, draws=True, level="fx") for op in baked]
    return tracer.ops + drawn, tracer.calls
