"""Every condition of every pattern is needed: without it, an example of the rule fails."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from modellint.catalog import ActiveRule, Example, Rule, load_frameworks, load_rules
from modellint.diagnostic import Confidence
from modellint.sources import read_source
from modellint.static import Analyzer

PATTERNS = [rule for rule in load_rules().values() if rule.detector == "pattern"]
_HEADS = ("call", "method", "assign", "class")
_ABOUT = ("position", "say", "confidence")


def mutants(rule: Rule) -> Iterator[object]:
    for index, pattern in enumerate(rule.detector_options["patterns"]):
        for path in conditions(pattern, ()):
            yield pytest.param(rule, index, path, id=f"{rule.code}-{index}-{'.'.join(map(str, path))}")
        if len(rule.detector_options["patterns"]) > 1:
            yield pytest.param(rule, index, (), id=f"{rule.code}-{index}")


def conditions(data: Mapping[str, Any], path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """Yield the places of the conditions in a pattern; those of a head are its names."""
    for key, value in data.items():
        here = (*path, key)
        if key in _ABOUT:
            continue
        if isinstance(value, Mapping):
            yield from conditions(value, here)
        elif key not in _HEADS:
            yield here


def without(rule: Rule, index: int, path: tuple[str | int, ...]) -> Rule:
    """Return `rule` with one condition dropped, or with one pattern less."""
    patterns = copy.deepcopy([dict(pattern) for pattern in rule.detector_options["patterns"]])
    if not path:
        del patterns[index]
    else:
        holder = patterns[index]
        for key in path[:-1]:
            holder = holder[key]
        del holder[path[-1]]
        if not any(key not in _ABOUT for key in holder) and len(path) > 1:  # an argument of which nothing is asked
            parent = patterns[index]
            for key in path[:-2]:
                parent = parent[key]
            del parent[path[-2]]
    return dataclasses.replace(rule, detector_options={"patterns": patterns})


def passes(rule: Rule, example: Example, root: Path) -> bool:
    for name, text in example.files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    found = Analyzer({rule.code: ActiveRule.default(rule)}, load_frameworks(), root).check(
        read_source(root / example.check)
    )
    shown = {(example.check, d.span.start.row) for d in found if d.confidence is not Confidence.POSSIBLE}
    return shown == set(example.findings())


@pytest.mark.parametrize(("rule", "index", "path"), [mutant for rule in PATTERNS for mutant in mutants(rule)])
def test_dropping_a_condition_fails_an_example(
    rule: Rule, index: int, path: tuple[str | int, ...], tmp_path: Path
) -> None:
    mutant = without(rule, index, path)
    outcomes = [passes(mutant, example, tmp_path / str(number)) for number, example in enumerate(rule.cases)]
    assert not all(outcomes)
