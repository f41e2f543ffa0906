"""Everything a forward can draw random numbers from: the global states, and generators that the model keeps."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True, slots=True)
class Source:
    """A stream of random numbers: read its state, compare it, set it, move it to another place."""

    name: str
    get: Callable[[], Any]
    key: Callable[[Any], Hashable]
    set: Callable[[Any], None]
    move: Callable[[], None]
    is_torch: bool = False
    """Its draws are operators that a recording sees."""

    def fingerprint(self) -> Hashable:
        """Return something that changes whenever the source is drawn from."""
        return self.key(self.get())


_MOVED_SEED = 0x5EED


def sources(model: nn.Module) -> tuple[Source, ...]:
    """Return the random sources of this process and those that `model` or its source files hold."""
    found = [_torch("torch", torch.default_generator), _python("random", random)]
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        found.append(
            Source(
                "torch.cuda",
                torch.cuda.get_rng_state_all,
                lambda states: tuple(state.numpy().tobytes() for state in states),
                torch.cuda.set_rng_state_all,
                lambda: torch.cuda.manual_seed_all(_MOVED_SEED),
                True,
            )
        )
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        found.append(_numpy_global(numpy.random))
    known: set[int] = set()
    for name, value in _held(model):
        if id(value) in known:
            continue
        known.add(id(value))
        if isinstance(value, torch.Generator):
            found.append(_torch(name, value))
        elif isinstance(value, random.Random):
            found.append(_python(name, value))
        elif numpy is not None and isinstance(value, numpy.random.Generator):
            found.append(_numpy_generator(name, value))
        elif numpy is not None and isinstance(value, numpy.random.RandomState):
            found.append(_numpy_global(value, name))
    return tuple(found)


def _held(model: nn.Module) -> Iterator[tuple[str, Any]]:
    files: set[str] = set()
    for path, module in model.named_modules():
        for name, value in list(vars(module).items()):
            if not name.startswith(("_parameters", "_buffers", "_modules")):
                yield f"{path}.{name}".lstrip("."), value
        files.add(type(module).__module__)
    for file in files:
        if not file.startswith("torch.") and (owner := sys.modules.get(file)) is not None:
            for name, value in list(vars(owner).items()):
                yield f"{file}.{name}", value


def _torch(name: str, generator: torch.Generator) -> Source:
    def move() -> None:
        if name == "torch":
            generator.manual_seed(_MOVED_SEED)
        else:
            torch.empty(1, device=generator.device).uniform_(generator=generator)

    return Source(
        name,
        generator.get_state,
        lambda state: bytes(state.numpy().tobytes()),
        lambda state: (generator.set_state(state), None)[1],
        move,
        True,
    )


def _python(name: str, generator: Any) -> Source:
    return Source(name, generator.getstate, _same, generator.setstate, lambda: (generator.random(), None)[1])


def _same(state: Any) -> Hashable:
    return state  # type: ignore[no-any-return]


def _numpy_global(generator: Any, name: str = "numpy.random") -> Source:
    def key(state: Any) -> Hashable:
        kind, keys, *rest = state
        return (kind, keys.tobytes(), *rest)

    return Source(name, generator.get_state, key, generator.set_state, lambda: (generator.random_sample(), None)[1])


def _numpy_generator(name: str, generator: Any) -> Source:
    def put(state: Any) -> None:
        generator.bit_generator.state = state

    return Source(name, lambda: generator.bit_generator.state, repr, put, lambda: (generator.random(), None)[1])


class RandomState:
    """The states of some sources at one moment."""

    def __init__(self, of: tuple[Source, ...]) -> None:
        self._states = [(source, source.get()) for source in of]

    def restore(self) -> None:
        """Set every source back."""
        for source, state in self._states:
            source.set(state)

    def moved(self) -> set[str]:
        """Return the names of the sources that were drawn from since."""
        return {source.name for source, state in self._states if source.fingerprint() != source.key(state)}
