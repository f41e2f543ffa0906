"""What a trace that the client asks for is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from modellint.runtime import Request
from modellint.server.folders import Folder
from modellint.settings import Settings


@dataclass(frozen=True, slots=True)
class Target:
    """A model that the client names, and its example inputs, as `modellint trace` takes them."""

    name: str
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be traced in one folder."""

    folder: Folder
    settings: Settings
    requests: list[Request]


def plan(folders: Iterable[Folder], targets: list[Target]) -> list[Work]:
    """Return what is to be traced: the models that `folders` configure, or `targets`, which count from the first one.

    Raises one of `ConfigurationError`.
    """
    work = []
    for folder in folders:
        settings, requests = folder.models()
        if targets:
            requests = [Request(target.name, target.inputs, root=folder.root) for target in targets]
        if requests:
            work.append(Work(folder, settings, requests))
        if targets:
            break
    return work
