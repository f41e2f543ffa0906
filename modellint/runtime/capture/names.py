"""What a running module is called: its registered path, or where an unregistered one is kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from itertools import islice
from types import MethodType
from typing import Any

from torch import nn

_DEPTH = 3
_WIDTH = 1000


class Names:
    """Paths of the modules of one model; looks again when a module appears that was not there before."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._registered: dict[int, str] = {}
        self._strays: dict[int, str] = {}
        self._alive: list[nn.Module] = []
        self._refresh()

    def _refresh(self) -> None:
        self._registered = {id(module): path for path, module in self._model.named_modules()}

    def registered(self, module: nn.Module) -> bool:
        """Tell whether a module is a submodule, also one that became one only now."""
        if id(module) not in self._registered and id(module) not in self._strays:
            self._refresh()
        return id(module) in self._registered

    def path(self, module: nn.Module, parent: nn.Module | None) -> tuple[str, bool]:
        """Return (path, registered) of a module that is being called by `parent`."""
        key = id(module)
        if (found := self._registered.get(key)) is not None:
            return found, True
        if (stray := self._strays.get(key)) is not None:
            return stray, False
        self._refresh()
        if (found := self._registered.get(key)) is not None:
            return found, True
        name = self._unused(self._locate(module, parent))
        self._strays[key] = name
        # Held, so that another module cannot be given the same id while the names are in use.
        self._alive.append(module)
        for below, child in module.named_modules():
            if below:
                self._strays.setdefault(id(child), f"{name}.{below}")
        return name, False

    def _unused(self, name: str) -> str:
        """Return `name`, numbered where another unregistered module is called that already."""
        taken, number, found = set(self._strays.values()), 2, name
        while found in taken:
            found, number = f"{name}#{number}", number + 1
        return found

    def _locate(self, module: nn.Module, parent: nn.Module | None) -> str:
        holders: list[nn.Module] = [parent] if parent is not None else []
        holders += [holder for holder in self._model.modules() if holder is not parent]
        for holder in holders:
            prefix = self._registered.get(id(holder), self._strays.get(id(holder), ""))
            for name, value in list(vars(holder).items()):
                if name in ("_modules", "_parameters", "_buffers"):
                    continue
                for below, item in _inside(value, 0):
                    if item is module:
                        return f"{prefix}.{name}{below}".lstrip(".")
        home = self._registered.get(id(parent), "") if parent is not None else ""
        return f"{home}.<{type(module).__name__}>".lstrip(".")


def _inside(value: Any, depth: int) -> Iterator[tuple[str, nn.Module]]:
    if isinstance(value, nn.Module):
        yield "", value
    elif depth < _DEPTH and isinstance(value, partial):
        yield from _inside((value.func, *value.args, *value.keywords.values()), depth + 1)
    elif depth < _DEPTH and isinstance(value, MethodType):
        yield from _inside(value.__self__, depth + 1)
    elif depth < _DEPTH and isinstance(value, dict):
        for key, item in list(value.items())[:_WIDTH]:
            for below, module in _inside(item, depth + 1):
                yield f"[{key!r}]{below}", module
    elif depth < _DEPTH and isinstance(value, (list, tuple, deque)):
        for index, item in enumerate(islice(value, _WIDTH)):
            for below, module in _inside(item, depth + 1):
                yield f"[{index}]{below}", module
    elif depth < _DEPTH and type(value).__name__ == "SimpleNamespace":
        for key, item in list(vars(value).items())[:_WIDTH]:
            for below, module in _inside(item, depth + 1):
                yield f".{key}{below}", module
