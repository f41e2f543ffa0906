"""One rule is one YAML file: what it finds, why, how to repair it, and the examples that test it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from modellint.catalog import detect as vocabulary
from modellint.catalog.document import (
    Document,
    DocumentError,
    KeyPath,
    Problem,
    load_yaml,
    suggestion,
    validate,
)
from modellint.diagnostic import Applicability, Confidence, Severity

SCHEMA = Path(__file__).parent / "schemas" / "rule.json"
_MARK = re.compile(r"(?:#|//)\s*finding\s*(?::\s*(?P<severity>error|warning|info))?\s*$")


@dataclass(frozen=True, slots=True)
class Example:
    """A piece of code of a rule's page; a line that must be reported ends in `# finding`.

    `files` maps a file name to its text; `check` names the one that is analysed. `inputs` are the input
    specs of a runtime example, whose factory is `build()`.
    """

    title: str
    bad: bool
    files: Mapping[str, str]
    check: str
    options: Mapping[str, Any]
    inputs: tuple[str, ...]

    @property
    def code(self) -> str:
        """The text of the file that is analysed."""
        return self.files[self.check]

    def findings(self) -> dict[tuple[str, int], str | None]:
        """Return {(file name, row): severity or None} of the lines marked `# finding`."""
        found = {}
        for name, text in self.files.items():
            for row, line in enumerate(text.splitlines(), 1):
                if match := _MARK.search(line):
                    found[name, row] = match["severity"]
        return found


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
    """A rule as its YAML file describes it."""

    code: str
    name: str
    family: str
    severity: Severity
    confidence: Confidence
    enabled: bool
    summary: str
    message: str
    what: str
    why: str
    use_instead: str
    fix: FixInfo | None
    blind_spots: str
    options: Mapping[str, Option]
    references: tuple[tuple[str, str], ...]
    runs_on: str
    triggers: tuple[tuple[str, ...], ...]
    detector: str
    detector_options: Mapping[str, Any]
    examples: tuple[Example, ...]
    path: Path

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


def rules_folder() -> Path:
    """Return the catalogue's folder: inside the wheel, or beside the package in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "rules"
    return inside if inside.is_dir() else package.parent / "rules"


@cache
def load_rules(folder: Path | None = None) -> Mapping[str, Rule]:
    """Return the rules of `folder` (default: the shipped catalogue) by code, in the order of their codes.

    Raises `DocumentError` with every error of every file, a code used twice included.
    """
    folder = folder or rules_folder()
    paths = [p for p in sorted(folder.rglob("*.yaml")) if p.relative_to(folder).parts[0] != "frameworks"]
    return collect(paths)


def collect(paths: Iterable[Path]) -> Mapping[str, Rule]:
    """Load the rule files `paths`; raise `DocumentError` with all errors of all of them."""
    rules: dict[str, Rule] = {}
    names: dict[str, Rule] = {}
    problems: list[Problem] = []
    for path in paths:
        try:
            rule = load_rule(path)
        except DocumentError as error:
            problems += error.problems
            continue
        for key, value, taken in (("code", rule.code, rules), ("name", rule.name, names)):
            if value in taken:
                problems.append(Problem(path, 1, key, f"{value} is already used by {taken[value].path}"))
            taken[value] = rule
    if problems:
        raise DocumentError(problems)
    return MappingProxyType(dict(sorted(rules.items())))


def load_rule(path: Path, text: str | None = None) -> Rule:
    """Read one rule file; raise `DocumentError` with everything that is wrong with it."""
    document = load_yaml(path, text)
    problems = validate(document, SCHEMA)
    if not problems:
        problems = list(_inconsistencies(document))
    if problems:
        raise DocumentError(problems)
    return _build(document)


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
    for kind in ("good", "bad"):
        for index, example in enumerate(document.data["examples"][kind]):
            key: KeyPath = ("examples", kind, index)
            built = _example(example, kind == "bad", document.data["runs-on"])
            if built.check not in built.files:
                yield document.problem((*key, "check"), f"{built.check!r} is none of the example's files")
                continue
            marked = built.findings()
            if kind == "bad" and not marked:
                yield document.problem(key, "marks no line with '# finding'")
            if kind == "good" and marked:
                yield document.problem(key, "marks a line with '# finding' although nothing may be found")


def _example(data: Mapping[str, Any], bad: bool, runs_on: str) -> Example:
    single = "example.rs" if runs_on == "rust" else "example.py"
    files = data["files"] if "files" in data else {single: data["code"]}
    return Example(
        title=data["title"],
        bad=bad,
        files=MappingProxyType(dict(files)),
        check=data.get("check", next(iter(files))),
        options=MappingProxyType(dict(data.get("options", {}))),
        inputs=tuple(data.get("inputs", ())),
    )


def _fix(data: Mapping[str, Any]) -> FixInfo:
    options = MappingProxyType(dict(data.get("options", {})))
    return FixInfo(Applicability(data["safety"]), data["about"], data.get("fixer"), options)


def _build(document: Document) -> Rule:
    data = document.data
    detector, detector_options = vocabulary.options_of(data["detect"])
    examples = data["examples"]
    return Rule(
        code=data["code"],
        name=data["name"],
        family=data["family"],
        severity=Severity(data["severity"]),
        confidence=Confidence(data.get("confidence", "certain")),
        enabled=data.get("enabled", True),
        summary=data["summary"],
        message=data["message"],
        what=data["what-it-does"],
        why=data["why-is-this-bad"],
        use_instead=data.get("use-instead", ""),
        fix=_fix(data["fix"]) if "fix" in data else None,
        blind_spots=data.get("does-not-see", ""),
        options=MappingProxyType(
            {name: Option(o["default"], o["about"]) for name, o in data.get("options", {}).items()}
        ),
        references=tuple((r["title"], r["url"]) for r in data.get("references", ())),
        runs_on=data["runs-on"],
        triggers=tuple((t,) if isinstance(t, str) else tuple(t) for t in data.get("triggers", ())),
        detector=detector,
        detector_options=MappingProxyType(dict(detector_options)),
        examples=tuple(
            _example(example, kind == "bad", data["runs-on"]) for kind in ("good", "bad") for example in examples[kind]
        ),
        path=document.path,
    )
