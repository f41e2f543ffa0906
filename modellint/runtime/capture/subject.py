"""The model under trace and the call that is observed."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from modellint.runtime.capture.names import Names
from modellint.runtime.capture.recorder import Recorder
from modellint.runtime.capture.sites import SiteTable


@dataclass(frozen=True, slots=True)
class Subject:
    """The model under trace and how it is called."""

    model: nn.Module
    entry: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    sites: SiteTable
    built: Mapping[int, int | None]

    def call(self) -> Any:
        """Run the forward (or the method asked for) once."""
        return self.entry(*self.args, **self.kwargs)

    def fresh(self) -> Subject:
        """Return the subject with copies of its inputs: a forward may write to them."""
        args, kwargs = inputs_copied((self.args, self.kwargs))
        return replace(self, args=args, kwargs=kwargs)

    def recorder(self, before_writing: Callable[[torch.Tensor], None]) -> Recorder:
        """Return a fresh recorder for this model."""
        return Recorder(self.model, Names(self.model), self.sites, self.built, before_writing)

    def leaves_out(self) -> bool:
        """Tell whether the call leaves out an optional argument, and with it perhaps a branch."""
        entry = self.model.forward if self.entry is self.model else self.entry
        try:
            bound = inspect.signature(entry).bind_partial(*self.args, **self.kwargs)
        except (TypeError, ValueError):
            return False
        return any(
            name not in bound.arguments and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            for name, parameter in bound.signature.parameters.items()
        )


def inputs_copied(value: Any) -> Any:
    """Return inputs that a forward may write to: copies of tensors, of containers and of objects with a state.

    Modules, functions and what refuses to be copied stay what they are.
    """
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if type(value) is dict:
        return {key: inputs_copied(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(inputs_copied(item) for item in value)
    if isinstance(value, nn.Module) or not hasattr(value, "__dict__") or callable(value):
        return value
    try:
        return copy.deepcopy(value)
    except Exception:
        return value
