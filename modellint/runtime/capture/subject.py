"""The model under trace and the call that is observed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

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
