"""What one library does to modes, weights and gradients: one YAML file under `rules/frameworks/`.

The sections of such a file and what each key means: docs/frameworks.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from modellint.catalog.compiled import compiled
from modellint.catalog.document import Document, DocumentError, Problem, load_yaml, validate
from modellint.catalog.rule import rules_folder

SCHEMA = Path(__file__).parent / "schemas" / "framework.json"
GIVEN = "given"
"""The word for any value but None, False, 0 and the empty text."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call: its names in all versions, and its position (None: by keyword only)."""

    names: tuple[str, ...]
    position: int | None


@dataclass(frozen=True, slots=True)
class Effect:
    """What a call does to the model.

    `mode` is the one it runs in or is returned in, `leaves` the one a call leaves it in, `grad` the state of autograd
    under which it runs, `runs` whether that is inference, training, or no run at all. `returns` names what comes
    back: one word for a single object, several for a tuple. `methods` tells whether the methods of what a loader
    returns are those of the library, or code of somebody else's.
    """

    mode: str = "same"
    weights: str = "same"
    grad: str = "same"
    runs: str = "nothing"
    leaves: str = "same"
    returns: tuple[str, ...] = ("model",)
    methods: str = "same"


@dataclass(frozen=True, slots=True)
class Case:
    """What holds instead where an argument is one of `values` (texts may hold `*`; `given`: anything true)."""

    argument: Argument
    values: tuple[Any, ...]
    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fact:
    """One call of a section. `call` is a qualified name in which `*` stands for any run of characters.

    `excluded` are names that `call` matches and does not mean, `model` the argument that holds the model (None: what
    the method belongs to, or else the first argument).
    """

    call: str
    effect: Effect
    cases: tuple[Case, ...] = ()
    excluded: tuple[str, ...] = ()
    model: Argument | None = None
    immediate: bool = False


@dataclass(frozen=True, slots=True)
class Hook:
    """Methods of subclasses of `base` that the library calls itself, in this mode and with gradients in this state."""

    base: str
    methods: tuple[str, ...]
    mode: str
    grad: str

    @property
    def handles_all(self) -> bool:
        """Whether nothing is left for the method to do."""
        return self.mode != "same" and self.grad != "same"

    @property
    def is_evaluation(self) -> bool:
        """Whether the library has switched the mode and autograd for an evaluation."""
        return self.mode == "eval" and self.grad == "off"


@dataclass(frozen=True, slots=True)
class DependentWith:
    """A layer that depends on the mode only where one of `arguments` is given, and is neither zero nor False."""

    call: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a file as it is written there, for those who read it."""

    section: str
    names: tuple[str, ...]
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Framework:
    """One library; docs/frameworks.md explains the sections."""

    name: str
    roots: tuple[str, ...]
    about: str
    loaders: tuple[Fact, ...]
    wrappers: tuple[Fact, ...]
    entry_points: tuple[Fact, ...]
    runners: tuple[Fact, ...]
    contexts: tuple[Fact, ...]
    hooks: tuple[Hook, ...]
    module_bases: tuple[str, ...]
    no_modules: tuple[str, ...]
    mode_dependent: tuple[str, ...]
    mode_free: tuple[str, ...]
    dropout_by_default: tuple[str, ...]
    loss_in_training: tuple[str, ...]
    dependent_with: tuple[DependentWith, ...]
    path: Path


@cache
def load_frameworks(folder: Path | None = None) -> tuple[Framework, ...]:
    """Return the shipped libraries; raise `DocumentError` with every error of every file."""
    paths = sorted((folder or rules_folder() / "frameworks").glob("*.yaml"))
    if folder is not None:
        return collect(paths)
    known = compiled("frameworks", paths, lambda: [document.data for document in _documents(paths)])
    return tuple(_build(data, path) for data, path in zip(known, paths, strict=True))


def collect(paths: Iterable[Path]) -> tuple[Framework, ...]:
    """Load framework files; raise `DocumentError` with all errors of all of them."""
    return tuple(_build(document.data, document.path) for document in _documents(paths))


def _documents(paths: Iterable[Path]) -> list[Document]:
    documents: list[Document] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            documents.append(_read(path))
        except DocumentError as error:
            problems += error.problems
    if problems:
        raise DocumentError(problems)
    return documents


def _read(path: Path) -> Document:
    document = load_yaml(path)
    if problems := validate(document, SCHEMA):
        raise DocumentError(problems)
    return document


def _build(data: Mapping[str, Any], path: Path) -> Framework:
    modules = data.get("modules", {})
    return Framework(
        name=data["name"],
        roots=tuple(data["roots"]),
        about=data["about"],
        loaders=tuple(_facts(data, "loaders")),
        wrappers=tuple(_facts(data, "wrappers")),
        entry_points=tuple(_facts(data, "entry-points")),
        runners=tuple(_facts(data, "runners")),
        contexts=tuple(_facts(data, "contexts")),
        hooks=tuple(
            Hook(base, tuple(entry["methods"]), entry.get("mode", "same"), entry.get("grad", "same"))
            for entry in data.get("hooks", ())
            for base in entry["bases"]
        ),
        module_bases=tuple(modules.get("bases", ())),
        no_modules=tuple(modules.get("except", ())),
        mode_dependent=tuple(modules.get("mode-dependent", ())),
        mode_free=tuple(modules.get("mode-free", ())),
        dropout_by_default=tuple(modules.get("dropout-by-default", ())),
        loss_in_training=tuple(modules.get("loss-in-training", ())),
        dependent_with=tuple(
            DependentWith(call, tuple(_argument(argument) for argument in entry["arguments"]))
            for entry in modules.get("mode-dependent-with", ())
            for call in entry["calls"]
        ),
        path=path,
    )


_EFFECTS = ("mode", "weights", "grad", "runs", "leaves", "returns", "methods")


def _facts(data: Mapping[str, Any], section: str) -> Iterator[Fact]:
    for entry in data.get(section, ()):
        effect = Effect(**_changes(entry))
        cases = tuple(
            Case(_argument(case), _listed(case["is"]), _changes(case)) for case in _listed(entry.get("when", ()))
        )
        model = _argument(entry["model"]) if "model" in entry else None
        excluded = tuple(entry.get("except", ()))
        for call in entry["calls"]:
            yield Fact(call, effect, cases, excluded, model, entry.get("immediate", False))


def _changes(entry: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: entry[name] for name in _EFFECTS if name in entry}
    if "returns" in found:
        found["returns"] = _listed(found["returns"])
    return found


def _listed(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _argument(data: Mapping[str, Any]) -> Argument:
    return Argument(_listed(data.get("argument", ())), data.get("position"))


def entries(framework: Framework) -> Iterator[Entry]:
    """Yield what the file of `framework` says, as it stands there."""
    data = load_yaml(framework.path).data
    for section in ("loaders", "wrappers", "entry-points", "runners", "contexts", "hooks"):
        for entry in data.get(section, ()):
            rest = {key: value for key, value in entry.items() if key not in ("calls", "bases")}
            yield Entry(section, tuple(entry.get("calls", entry.get("bases", ()))), rest)
    for kind, names in data.get("modules", {}).items():
        if kind != "mode-dependent-with":
            yield Entry("modules", tuple(names), {"kind": kind})
            continue
        for entry in names:
            arguments = ", ".join(str(argument["argument"]) for argument in entry["arguments"])
            yield Entry("modules", tuple(entry["calls"]), {"kind": f"{kind} {arguments}"})
