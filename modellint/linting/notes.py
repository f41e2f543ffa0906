"""What the findings of a run follow from, as one process tells it to another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from modellint.linting.checkers import language_of
from modellint.linting.engine import Engine, Surveyed
from modellint.linting.links import Links
from modellint.linting.states import Reads, State
from modellint.settings import Settings


@dataclass(frozen=True, slots=True)
class Noted:
    """What the findings of one project follow from, by the names of files: see `modellint.linting.engine.Consulted`.

    `surveyed` is what those in its Rust files do.
    """

    links: Links = field(default_factory=Links)
    folders: frozenset[str] = frozenset()
    surveyed: Surveyed = field(default_factory=Surveyed)


@dataclass(frozen=True, slots=True)
class Notes:
    """What one process has read for its findings: the states of files; `torn` if one had two contents, or nobody knows.

    `projects` go by one of the files that the process has checked there.
    """

    states: Mapping[str, State] = field(default_factory=dict)
    torn: bool = False
    projects: tuple[tuple[Path, Noted], ...] = ()


def take_notes(engine: Engine, checked: Iterable[Path]) -> Notes:
    """Return what an engine that reads through `Reads` has read for the findings of the files `checked`."""
    assert isinstance(engine.read, Reads)
    firsts: dict[tuple[int, Path, str], Path] = {}
    for path in checked:
        settings, root = engine.group(path)
        if is_recorded(settings):
            firsts.setdefault((id(settings), root, language_of(path)), path)
    projects = tuple((path, _noted(engine, path)) for path in firsts.values())
    return Notes(engine.read.states, engine.read.torn, projects)


def _noted(engine: Engine, path: Path) -> Noted:
    settings, root = engine.group(path)
    if language_of(path) == "rust":
        return Noted(surveyed=engine.surveyed(settings))
    consulted = engine.consulted(settings, root)
    return Noted(Links.of(consulted), frozenset(map(str, consulted.folders)))


def is_recorded(settings: Settings) -> bool:
    """Tell whether findings are kept: what they follow from with `deep` lies anywhere."""
    return not settings.deep
