"""What a rule's `detect` may say: which detectors there are, what options they take, what a pattern can ask."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

from modellint.catalog.document import Document, KeyPath, Problem, dotted, meant, not_of_kind, suggestion

DETECTORS = Path(__file__).parent / "schemas" / "detectors.json"
PATTERN = "pattern"
_OPTION = re.compile(r"(?P<optional>optional )?(?P<value>[\[{\"].*?|0|false): ")
_QUALIFIED = re.compile(r"^([A-Za-z_]\w*)\.[\w.*]+$")
_GOES_WITH = {
    "value": ("assign",),
    "arguments": ("call", "method"),
    "of": ("method",),
    "defines": ("class",),
    "lacks": ("class",),
    "inference": ("call", "method", "assign"),
}
"""The keys of a pattern that belong to some of its heads only."""
PLACEHOLDERS = frozenset({"call", "name", "value"})
"""What the message of a rule with patterns may name, beside the words under `say`."""


@cache
def _catalogue() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """Return {what it reads: {detector: {option: what it is}}}, where the first is what a rule says under `runs-on`."""
    known: dict[str, dict[str, dict[str, str]]] = json.loads(DETECTORS.read_text(encoding="utf-8"))
    return known


@cache
def detectors() -> Mapping[str, Mapping[str, str]]:
    """Return {detector: {option: what it is}} of every detector that a rule may name.

    What an option is begins with a value of its kind, `[]:`, and with `optional VALUE:` where a rule may leave it out.
    """
    return {name: options for group in _catalogue().values() for name, options in group.items()}


def options_of(detect: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the detector that `detect` names, and its options; patterns are one of them."""
    if "detector" in detect:
        return detect["detector"], {**_defaults(detect["detector"]), **detect.get("options", {})}
    return PATTERN, {"patterns": [detect["pattern"]] if "pattern" in detect else detect["patterns"]}


def _defaults(detector: str) -> Mapping[str, Any]:
    """Return {option: its value where a rule leaves it out}."""
    given = {option: _OPTION.match(about) for option, about in detectors().get(detector, {}).items()}
    return {option: json.loads(match["value"]) for option, match in given.items() if match and match["optional"]}


def problems(document: Document) -> Iterator[Problem]:
    """Yield what a schema cannot say about `detect` and about the message that its findings fill."""
    detect = document.data["detect"]
    if "detector" in detect:
        yield from _detector_problems(document, detect)
        return
    single = "pattern" in detect
    for index, pattern in enumerate([detect["pattern"]] if single else detect["patterns"]):
        key: KeyPath = ("detect", "pattern") if single else ("detect", "patterns", index)
        yield from _pattern_problems(document, pattern, key)
        known = PLACEHOLDERS | set(pattern.get("say", {}))
        for name in _placeholders(document.data["message"]):
            if name not in known:
                hint = suggestion(name, known) or f"; there are {', '.join(sorted(known))}"
                yield document.problem(("message",), f"{{{name}}} is nothing that {dotted(key)} fills{hint}")


def is_shipped(path: Path) -> bool:
    """Tell whether a rule file is one of the shipped catalogue."""
    package = Path(__file__).resolve().parent.parent
    return any(folder in path.resolve().parents for folder in (package / "rules", package.parent / "rules"))


def packages(options: object) -> frozenset[str]:
    """Return the first parts of the qualified names in the options of a detector."""
    if isinstance(options, Mapping):
        return packages(list(options)) | packages(list(options.values()))
    if isinstance(options, (list, tuple)):
        return frozenset().union(*map(packages, options)) if options else frozenset()
    name = _QUALIFIED.match(options) if isinstance(options, str) else None
    return frozenset({name[1]}) if name is not None else frozenset()


def _placeholders(message: str) -> list[str]:
    try:
        return [name for _, name, _, _ in Formatter().parse(message) if name is not None]
    except ValueError:
        return []


def _detector_problems(document: Document, detect: Mapping[str, Any]) -> Iterator[Problem]:
    name = detect["detector"]
    known = detectors()
    if name not in known:
        if is_shipped(document.path):  # its own tests see to it
            return
        yield document.problem(("detect", "detector"), f"there is no detector {name!r}{suggestion(name, known)}")
        return
    reads = next(group for group, detectors_of in _catalogue().items() if name in detectors_of)
    if reads != document.data["runs-on"]:
        yield document.problem(("runs-on",), f"{name} runs on {reads}, not on {document.data['runs-on']}")
    given = detect.get("options", {})
    misspelt = {meant(option, known[name]) for option in given if option not in known[name]}
    missing = [
        option
        for option, about in known[name].items()
        if option not in given and option not in misspelt and not about.startswith("optional")
    ]
    if missing:
        yield document.problem(("detect",), f"{name} lacks the option {', '.join(map(repr, missing))}")
    for option, value in given.items():
        if option not in known[name]:
            hint = suggestion(option, known[name]) or f"; it has {', '.join(sorted(known[name])) or 'none'}"
            yield document.problem(("detect", "options", option), f"is no option of {name}{hint}")
            continue
        kind = _OPTION.match(known[name][option])
        wrong = not_of_kind(value, json.loads(kind["value"])) if kind else ""
        if wrong:
            yield document.problem(("detect", "options", option), wrong)


def _pattern_problems(document: Document, pattern: Mapping[str, Any], key: KeyPath) -> Iterator[Problem]:
    heads = [head for head in ("call", "method", "assign", "class") if head in pattern]
    if len(heads) != 1:
        given = " and ".join(heads) or "none"
        yield document.problem(key, f"takes one of call, method, assign and class, not {given}")
        return
    for allowed, wanted in _GOES_WITH.items():
        if allowed in pattern and heads[0] not in wanted:
            yield document.problem((*key, allowed), f"goes with {' or '.join(wanted)}, not with {heads[0]}")
    for side in ("inside", "outside"):
        for name in sorted(set(pattern.get(side, {})) - {"class", "function"}) if heads == ["class"] else ():
            yield document.problem((*key, side, name), "goes with call or method or assign, not with class")
    for name, wanted in pattern.get("arguments", {}).items():
        place = (*key, "arguments", name)
        conditions = set(wanted) - {"position"}
        if not conditions:
            yield document.problem(place, "asks for nothing")
        if wanted.get("missing") is True and len(conditions) > 1:
            others = ", ".join(sorted(conditions - {"missing"}))
            yield document.problem(place, f"cannot be met: a missing argument has no {others}")
        yield from _value_problems(document, wanted, place)
    if "value" in pattern:
        yield from _value_problems(document, pattern["value"], (*key, "value"))
    for side in ("inside", "outside"):
        for name in {"except", "function", "guard"} & set(pattern.get(side, {})):
            yield from _regex_problems(document, pattern[side][name], (*key, side, name))
    for name in set(pattern.get("inside", {})) & set(pattern.get("outside", {})):
        if pattern["inside"][name] == pattern["outside"][name]:
            yield document.problem((*key, "outside", name), "cannot be met: `inside` asks for the same")


def _value_problems(document: Document, wanted: Mapping[str, Any], key: KeyPath) -> Iterator[Problem]:
    if "matches" in wanted:
        yield from _regex_problems(document, wanted["matches"], (*key, "matches"))
    if "equals" in wanted and "not-equals" in wanted:
        yield document.problem((*key, "not-equals"), "says nothing beside `equals`")
    if "matches" in wanted and "type" in wanted and "string" not in wanted["type"]:
        yield document.problem((*key, "type"), "cannot be met: only strings match a regular expression")


def _regex_problems(document: Document, text: str, key: KeyPath) -> Iterator[Problem]:
    try:
        re.compile(text)
    except re.error as error:
        yield document.problem(key, f"is no regular expression: {error}")
