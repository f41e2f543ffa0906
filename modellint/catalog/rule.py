"""One rule is one YAML file: what it finds, why, how to repair it, and the examples that test it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from modellint.catalog import detect as vocabulary
from modellint.catalog.compiled import compiled
from modellint.catalog.document import (
    Document,
    DocumentError,
    Problem,
    load_yaml,
    suggestion,
    validate,
)
from modellint.catalog.page import KEYS, Example, Page, examples_of, page
from modellint.diagnostic import Applicability, Confidence, Severity

SCHEMA = Path(__file__).parent / "schemas" / "rule.json"


@dataclass(frozen=True, slots=True)
class FixInfo:
    """How a rule repairs what it finds, and how safe that is at best.

    `fixer` names a module of `modellint.fixing.fixers`; None where the finding comes with its fix.
    """

    safety: Applicability
    text: str
    fixer: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a rule, set under `rules: {CODE: {options: {...}}}`."""

    default: Any
    about: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as its YAML file describes it. The texts of its page are read from there when one is asked for."""

    code: str
    name: str
    family: str
    severity: Severity
    confidence: Confidence
    enabled: bool
    summary: str
    message: str
    fix: FixInfo | None
    options: Mapping[str, Option]
    runs_on: str
    triggers: tuple[tuple[str, ...], ...]
    detector: str
    detector_options: Mapping[str, Any]
    path: Path
    known_page: Page | None = field(default=None, repr=False, compare=False)

    @property
    def page(self) -> Page:
        """The long texts and the examples; raises `DocumentError` where the file has been broken since."""
        return self.known_page or _page_in(self.path)

    @property
    def what(self) -> str:
        """What the rule finds."""
        return self.page.what

    @property
    def why(self) -> str:
        """Why that is bad."""
        return self.page.why

    @property
    def use_instead(self) -> str:
        """What to write instead, if the rule says so."""
        return self.page.use_instead

    @property
    def blind_spots(self) -> str:
        """What the rule does not see."""
        return self.page.blind_spots

    @property
    def references(self) -> tuple[tuple[str, str], ...]:
        """(Title, URL) of what the rule rests on."""
        return self.page.references

    @property
    def examples(self) -> tuple[Example, ...]:
        """The examples that the page shows: the good ones first."""
        return self.page.examples

    @property
    def cases(self) -> tuple[Example, ...]:
        """The examples and the edge cases: everything that the rule is proved by."""
        return self.page.examples + self.page.edge_cases

    @property
    def roots(self) -> frozenset[str]:
        """The packages that a rule of one's own speaks of: a file that names one is read, library or not."""
        return frozenset() if vocabulary.is_shipped(self.path) else vocabulary.packages(self.detector_options)


@dataclass(frozen=True, slots=True)
class ActiveRule:
    """A rule that is switched on, with what the configuration made of it."""

    rule: Rule
    severity: Severity
    options: Mapping[str, Any]

    @classmethod
    def default(cls, rule: Rule) -> ActiveRule:
        """Return `rule` with its own severity and option defaults."""
        options = {name: option.default for name, option in rule.options.items()}
        return cls(rule, rule.severity, MappingProxyType(options))


OURS = "ML"


@cache
def rules_folder() -> Path:
    """Return the catalogue's folder: inside the wheel, or beside the package in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "rules"
    return inside if inside.is_dir() else package.parent / "rules"


@cache
def _page_in(path: Path) -> Page:
    return page(_read(path).data)


@cache
def load_rules(folder: Path | None = None) -> Mapping[str, Rule]:
    """Return the rules of `folder` (default: the shipped catalogue) by code, in the order of their codes.

    Raises `DocumentError` with every error of every file, a code used twice included.
    """
    top = folder or rules_folder()
    paths = [p for p in sorted(top.rglob("*.yaml")) if p.relative_to(top).parts[0] != "frameworks"]
    if folder is not None:
        return collect(paths)

    def read() -> list[dict[str, Any]]:
        return [{key: d.data[key] for key in d.data if key not in KEYS} for d in _documents(paths)]

    return _by_code(_build(data, path) for data, path in zip(compiled("rules", paths, read), paths, strict=True))


def collect(paths: Iterable[Path]) -> Mapping[str, Rule]:
    """Load the rule files `paths`; raise `DocumentError` with all errors of all of them."""
    return _by_code(_build(d.data, d.path, page(d.data)) for d in _documents(paths))


def _by_code(rules: Iterable[Rule]) -> Mapping[str, Rule]:
    return MappingProxyType({rule.code: rule for rule in sorted(rules, key=lambda rule: rule.code)})


def _documents(paths: Iterable[Path]) -> list[Document]:
    documents: list[Document] = []
    taken: dict[str, Path] = {}
    problems: list[Problem] = []
    for path in paths:
        try:
            document = _read(path)
        except DocumentError as error:
            problems += error.problems
            continue
        for key in ("code", "name"):
            if (value := document.data[key]) in taken:
                problems.append(Problem(path, 1, key, f"{value} is already used by {taken[value]}"))
            taken[value] = path
        documents.append(document)
    if problems:
        raise DocumentError(problems)
    return documents


def load_rule(path: Path, text: str | None = None) -> Rule:
    """Read one rule file; raise `DocumentError` with everything that is wrong with it."""
    document = _read(path, text)
    return _build(document.data, path, page(document.data))


def _read(path: Path, text: str | None = None) -> Document:
    document = load_yaml(path, text)
    problems = validate(document, SCHEMA)
    if not problems:
        problems = list(_inconsistencies(document))
    if problems:
        raise DocumentError(problems)
    return document


def clashes(rule: Rule, others: Iterable[Rule]) -> list[Problem]:
    """Return what keeps a rule of a project from standing beside `others`: a code or a name that is taken, or ours."""
    words = [("code", rule.code), ("name", rule.name)]
    found = [
        (key, f"{word} is already used by {other.code} in {other.path}")
        for other in others
        if other.path.resolve() != rule.path.resolve()
        for key, word in words
        if word in (other.code, other.name)
    ]
    if not found and rule.code.startswith(OURS) and not vocabulary.is_shipped(rule.path):
        found.append(("code", f"codes that begin with {OURS} are modellint's own: take another word than {OURS}"))
    document = load_yaml(rule.path) if found else None
    return [document.problem((key,), message) for key, message in found] if document is not None else []


def fixers() -> list[str]:
    """Return the names that `fix.fixer` can have, sorted."""
    folder = Path(__file__).resolve().parent.parent / "fixing" / "fixers"
    return sorted(path.stem.replace("_", "-") for path in folder.glob("[!_]*.py"))


def _inconsistencies(document: Document) -> Iterable[Problem]:
    """Yield what a schema cannot say."""
    yield from vocabulary.problems(document)
    fixer = document.data.get("fix", {}).get("fixer")
    if fixer is not None and fixer not in (known := fixers()):
        yield document.problem(("fix", "fixer"), f"no fixer {fixer!r}{suggestion(fixer, known)}")
    for example in chain(examples_of(document.data, "examples"), examples_of(document.data, "edge-cases")):
        if example.check not in example.files:
            yield document.problem((*example.key, "check"), f"{example.check!r} is none of the example's files")
            continue
        marked = example.findings()
        if example.bad and not marked:
            yield document.problem(example.key, "marks no line with '# finding'")
        if not example.bad and marked:
            yield document.problem(example.key, "marks a line with '# finding' although nothing may be found")


def _fix(data: Mapping[str, Any]) -> FixInfo:
    options = MappingProxyType(dict(data.get("options", {})))
    return FixInfo(Applicability(data["safety"]), data["about"], data.get("fixer"), options)


def _build(data: Mapping[str, Any], path: Path, known_page: Page | None = None) -> Rule:
    detector, detector_options = vocabulary.options_of(data["detect"])
    return Rule(
        code=data["code"],
        name=data["name"],
        family=data["family"],
        severity=Severity(data["severity"]),
        confidence=Confidence(data.get("confidence", "certain")),
        enabled=data.get("enabled", True),
        summary=data["summary"],
        message=data["message"],
        fix=_fix(data["fix"]) if "fix" in data else None,
        options=MappingProxyType(
            {name: Option(o["default"], o["about"]) for name, o in data.get("options", {}).items()}
        ),
        runs_on=data["runs-on"],
        triggers=tuple((t,) if isinstance(t, str) else tuple(t) for t in data.get("triggers", ())),
        detector=detector,
        detector_options=MappingProxyType(dict(detector_options)),
        path=path,
        known_page=known_page,
    )
