"""benchmarks/mutation.py: a condition that no example needs is named, one that an example needs is not."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from modellint.catalog import Rule, load_rules

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "mutation.py"


def load_tool() -> Any:
    spec = importlib.util.spec_from_file_location("mutation", SCRIPT)
    assert spec is not None and spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules["mutation"] = module  # data classes look their module up
    spec.loader.exec_module(module)
    return module


TOOL = load_tool()


@pytest.fixture
def tool() -> Any:
    return TOOL


def changes(tool: Any, text: str, words: bool = False) -> list[str]:
    """Return the module as each of its mutants has it."""
    tree, found = ast.parse(text), []
    for mutant in tool.mutants(tree, text, words):
        with mutant.applied():
            compile(tree, "mutant", "exec")
            found.append(ast.unparse(tree))
    assert ast.unparse(tree) == ast.unparse(ast.parse(text)), "the tree is as it was"
    return found


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(node, Call) and other is None and third is not None",
        "found = name or ''",
        "if known is None or fresh:  # equivalent: only saves the look\n    pass",
        "total = first + second",
    ],
    ids=["types are narrowed", "a default", "a note says why", "no condition"],
)
def test_is_left_alone(tool: Any, text: str) -> None:
    assert changes(tool, text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a and b(c)", ["True and b(c)", "a and True"]),
        ("a or b", ["False or b", "a or False"]),
        ("if a:\n    pass", ["if True:\n    pass"]),
        ("for x in y:\n    if a:\n        continue", ["for x in y:\n    if False:\n        continue"]),
        ("c = 1 if a else 2", ["c = 1 if True else 2", "c = 1 if False else 2"]),
        ("[x for x in y if a if b]", ["[x for x in y if b]", "[x for x in y if a]"]),
        ("a < b", ["a >= b"]),
        ("not a", ["not (not a)"]),
    ],
)
def test_each_condition_is_changed(tool: Any, text: str, expected: list[str]) -> None:
    assert changes(tool, text) == [ast.unparse(ast.parse(each)) for each in expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("{'a', 'b'}", ["{'b'}", "{'a'}"]), ("'a b'.split()", ["'b'.split()", "'a'.split()"])],
)
def test_words_are_left_out_when_asked(tool: Any, text: str, expected: list[str]) -> None:
    assert changes(tool, text) == []
    assert changes(tool, text, words=True) == expected


@pytest.mark.slow
@pytest.mark.parametrize("rules", TOOL.groups([]), ids=lambda rules: rules[0].code)
def test_every_condition_of_every_detector_is_needed_by_an_example(tool: Any, rules: list[Rule]) -> None:
    alive, _ = tool.survivors(rules)
    assert alive == []


def test_names_what_no_example_needs(tool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its first good example alone, ML203 needs fewer conditions than with all of them."""
    rule = load_rules()["ML203"]
    some, total = tool.survivors([rule])
    monkeypatch.setattr(tool, "cases_of", lambda rules, folder, real=tool.cases_of: list(real(rules, folder))[:1])
    more, same = tool.survivors([rule])
    assert same == total
    assert len(some) < len(more) <= total
    path, row, _ = more[0].split(":", 2)
    assert (SCRIPT.parent.parent / path).name == "no_grad_no_effect.py" and row.isdigit()


def test_an_example_that_fails_unchanged_ends_it(tool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool.Case, "passes", lambda case, detect: case.example.bad)
    with pytest.raises(SystemExit, match="without any change these examples fail: ML203 "):
        tool.survivors([load_rules()["ML203"]])


def test_an_unknown_rule_is_one_clear_line(tool: Any) -> None:
    with pytest.raises(SystemExit, match="no rule on Python source with a detector of its own: ML999"):
        tool.groups(["ML999"])


def test_rules_that_share_a_detector_are_proved_together(tool: Any) -> None:
    assert [[rule.code for rule in rules] for rules in tool.groups(["ML307"])] == [["ML306", "ML307"]]
