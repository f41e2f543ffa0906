"""The lowest rung: walk the modules, run nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from torch import nn

from modellint.runtime.capture.facts import matters, mode_op, qualified, reads_mode, settings
from modellint.runtime.trace import INPUT, ModuleFact, Op


def walk(model: nn.Module, built: Mapping[int, int | None]) -> dict[str, ModuleFact]:
    """Return the facts of every submodule by its path (the root's is empty).

    `built` maps `id(module)` to the site at which it was constructed.
    """
    return {path: describe(module, path, built.get(id(module))) for path, module in model.named_modules()}


def describe(module: nn.Module, path: str, built: int | None, *, registered: bool = True) -> ModuleFact:
    """Return the facts of one module."""
    return ModuleFact(
        path=path,
        type=qualified(type(module)),
        training=module.training,
        settings=settings(module),
        reads_mode=reads_mode(module) and matters(module),
        registered=registered,
        has_state=any(True for _ in module.parameters()) or any(True for _ in module.buffers()),
        built=built,
    )


def called(fact: ModuleFact, calls: int, site: int | None) -> ModuleFact:
    """Return `fact` with what a forward added to it."""
    return replace(fact, calls=calls, site=site)


def mode_ops(model: nn.Module, built: Mapping[int, int | None]) -> list[Op]:
    """Return the operations that the modules would run, as far as torch's own modules tell."""
    ops = []
    for path, module in model.named_modules():
        if (found := mode_op(module)) is not None:
            name, args = found
            scalars = {key: value for key, value in args.items() if isinstance(value, (bool, int, float))}
            ops.append(Op(name, path, built.get(id(module)), scalars, taint=INPUT, draws=draws(name), level="walk"))
    return ops


def draws(name: str) -> bool:
    """Tell whether an operation named by `mode_op` can draw random numbers."""
    return name != "batch_norm"
