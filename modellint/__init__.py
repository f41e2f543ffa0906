"""modellint: prove that a PyTorch model's inference is what its author thinks it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from modellint._version import __version__

if TYPE_CHECKING:
    from modellint.api import inspect as inspect

__all__ = ["__version__", "inspect"]


def __getattr__(name: str) -> Any:
    """Import the Python API when it is asked for: `import modellint` alone stays light."""
    if name == "inspect":
        from modellint.api import inspect

        return inspect
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
