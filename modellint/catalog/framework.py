"""What one library does to modes, weights and gradients: one YAML file under `rules/frameworks/`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from modellint.catalog.document import DocumentError, Problem, load_yaml, validate
from modellint.catalog.rule import rules_folder

SCHEMA = Path(__file__).parent / "schemas" / "framework.json"


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call, by keyword, by position or both."""

    name: str | None
    position: int | None
    default: Any


@dataclass(frozen=True, slots=True)
class Loader:
    """A call that returns a model. `returns` is a model's place in the returned tuple, None for a bare one.

    `mode` and `weights` hold where no argument decides; `mode_argument` true means evaluation mode.
    """

    call: str
    mode: str
    weights: str
    returns: int | None
    mode_argument: Argument | None
    weights_argument: Argument | None


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A call that returns its model argument, or a model around it."""

    call: str
    mode: str
    position: int


@dataclass(frozen=True, slots=True)
class GradSwitch:
    """A call that switches autograd: as a context manager, as a decorator or, if `immediate`, at once."""

    call: str
    grad: str
    argument: Argument | None
    immediate: bool


@dataclass(frozen=True, slots=True)
class ModelMethod:
    """A method of a model that runs a forward or changes its state. `of` limits it to the results of these loaders."""

    name: str
    of: tuple[str, ...]
    forward: bool
    grad: str
    mode: str


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A call that runs a model by itself and cares for mode and gradients."""

    call: str
    mode: str
    grad: str


@dataclass(frozen=True, slots=True)
class Hooks:
    """Methods that a framework calls with mode and gradients already set, on subclasses of `base`."""

    base: str
    train: tuple[str, ...]
    inference: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Framework:
    """One library. Calls are qualified names in which `*` stands for any run of characters."""

    name: str
    roots: tuple[str, ...]
    about: str
    loaders: tuple[Loader, ...]
    wrappers: tuple[Wrapper, ...]
    grad_switches: tuple[GradSwitch, ...]
    methods: tuple[ModelMethod, ...]
    entry_points: tuple[EntryPoint, ...]
    hooks: tuple[Hooks, ...]
    module_bases: tuple[str, ...]
    mode_dependent: tuple[str, ...]
    mode_free: tuple[str, ...]
    path: Path


@cache
def load_frameworks(folder: Path | None = None) -> tuple[Framework, ...]:
    """Return the shipped libraries; raise `DocumentError` with every error of every file."""
    return collect(sorted((folder or rules_folder() / "frameworks").glob("*.yaml")))


def collect(paths: Iterable[Path]) -> tuple[Framework, ...]:
    """Load framework files; raise `DocumentError` with all errors of all of them."""
    frameworks: list[Framework] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            frameworks.append(load_framework(path))
        except DocumentError as error:
            problems += error.problems
    if problems:
        raise DocumentError(problems)
    return tuple(frameworks)


def load_framework(path: Path, text: str | None = None) -> Framework:
    """Read one framework file; raise `DocumentError` with everything that is wrong with it."""
    document = load_yaml(path, text)
    if problems := validate(document, SCHEMA):
        raise DocumentError(problems)
    data = document.data
    modules = data.get("modules", {})
    return Framework(
        name=data["name"],
        roots=tuple(data["roots"]),
        about=data["about"],
        loaders=tuple(
            Loader(
                call,
                entry["mode"],
                entry["weights"],
                entry.get("returns"),
                _argument(entry.get("mode-argument")),
                _argument(entry.get("weights-argument")),
            )
            for entry in data.get("loaders", ())
            for call in entry["calls"]
        ),
        wrappers=tuple(
            Wrapper(call, entry["mode"], entry.get("position", 0))
            for entry in data.get("wrappers", ())
            for call in entry["calls"]
        ),
        grad_switches=tuple(
            GradSwitch(call, entry["grad"], _argument(entry.get("argument")), entry.get("immediate", False))
            for entry in data.get("grad-switches", ())
            for call in entry["calls"]
        ),
        methods=tuple(
            ModelMethod(
                name,
                tuple(entry.get("of", ())),
                entry.get("forward", True),
                entry.get("grad", "unchanged"),
                entry.get("mode", "unchanged"),
            )
            for entry in data.get("methods", ())
            for name in entry["names"]
        ),
        entry_points=tuple(
            EntryPoint(call, entry.get("mode", "unchanged"), entry.get("grad", "unchanged"))
            for entry in data.get("entry-points", ())
            for call in entry["calls"]
        ),
        hooks=tuple(
            Hooks(base, tuple(entry.get("train", ())), tuple(entry.get("inference", ())))
            for entry in data.get("hooks", ())
            for base in entry["bases"]
        ),
        module_bases=tuple(modules.get("bases", ())),
        mode_dependent=tuple(modules.get("mode-dependent", ())),
        mode_free=tuple(modules.get("mode-free", ())),
        path=path,
    )


def _argument(data: Mapping[str, Any] | None) -> Argument | None:
    return None if data is None else Argument(data.get("name"), data.get("position"), data.get("default"))
