"""The vocabulary of `detect`: what is wrong with it is said with line, key and the nearest spelling."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from modellint.catalog import DocumentError, load_rule, load_rules, load_yaml
from modellint.catalog.detect import detectors
from modellint.catalog.detect import problems as detect_problems

RULE = """\
code: ACME001
name: house-rule
family: local
severity: error
summary: A rule.
message: "{message}"
what-it-does: Nothing.
why-is-this-bad: It is not.
runs-on: python
detect: {detect}
examples:
  good:
    - title: Silent
      code: "x = 1"
  bad:
    - title: Found
      code: "load()  # finding"
"""


def problems(tmp_path: Path, detect: object, message: str = "found") -> list[str]:
    path = tmp_path / "rule.yaml"
    path.write_text(RULE.replace("{message}", message).replace("{detect}", json.dumps(detect)), encoding="utf-8")
    try:
        load_rule(path)
    except DocumentError as error:
        return [str(problem).removeprefix(f"{path}:") for problem in error.problems]
    return []


@pytest.mark.parametrize(
    "detect",
    [
        {"detector": "missing-eval"},
        {"detector": "random-transform", "options": {"random": ["acme.jitter"]}},
        {"detector": "loader-option", "options": {"arguments": {"shuffle": 2}, "loaders": ["acme.Loader"]}},
        {"pattern": {"call": ["acme.*"], "arguments": {"mode": {"position": 1, "equals": [None, "train"]}}}},
        {"patterns": [{"assign": ["acme.fast"], "value": {"equals": True}}, {"method": ["go"], "of": ["acme.make"]}]},
        {"pattern": {"call": ["acme.load"], "inside": {"forward": True, "loop": True}, "outside": {"function": "^_"}}},
        {"pattern": {"class": ["acme.Model"], "lacks": ["close"], "outside": {"class": ["acme.Old"], "function": "x"}}},
        {"pattern": {"call": ["acme.load"], "inference": True, "unless-required": "acme>=2.0", "say": {"why": "so"}}},
    ],
)
def test_what_the_vocabulary_allows(tmp_path: Path, detect: object) -> None:
    assert problems(tmp_path, detect) == []


@pytest.mark.parametrize(
    ("detect", "said"),
    [
        (
            {"detector": "missing-evil"},
            "detect.detector: there is no detector 'missing-evil'; did you mean 'missing-eval'?",
        ),
        (
            {"detector": "loader-option", "options": {"argument": {}}},
            "detect.options.argument: is no option of loader-option; did you mean 'arguments'?",
        ),
        (
            {"detector": "loader-option", "options": {"loaders": ["acme.Loader"]}},
            "detect: loader-option lacks the option 'arguments'",
        ),
        ({"pattern": {"cal": ["acme.load"]}}, "detect.pattern.cal: unknown key; did you mean 'call'?"),
        ({"pattern": {"inference": True}}, "detect.pattern: takes one of call, method, assign and class, not none"),
        (
            {"pattern": {"call": ["a.b"], "assign": ["c.d"]}},
            "detect.pattern: takes one of call, method, assign and class, not call and assign",
        ),
        (
            {"pattern": {"call": ["a.b"], "value": {"equals": 1}}},
            "detect.pattern.value: goes with assign, not with call",
        ),
        (
            {"pattern": {"call": ["a.b"], "arguments": {"mode": {"missing": True, "equals": 1}}}},
            "detect.pattern.arguments.mode: cannot be met: a missing argument has no equals",
        ),
        (
            {"pattern": {"call": ["a.b"], "arguments": {"mode": {"position": 1}}}},
            "detect.pattern.arguments.mode: asks for nothing",
        ),
        (
            {"pattern": {"call": ["a.b"], "arguments": {"mode": {"matches": "("}}}},
            "detect.pattern.arguments.mode.matches: is no regular expression",
        ),
        (
            {"pattern": {"call": ["a.b"], "arguments": {"mode": {"matches": "x", "type": ["int"]}}}},
            "detect.pattern.arguments.mode.type: cannot be met: only strings match a regular expression",
        ),
        (
            {"pattern": {"call": ["a.b"], "inside": {"loop": True}, "outside": {"loop": True}}},
            "detect.pattern.outside.loop: cannot be met: `inside` asks for the same",
        ),
        (
            {"pattern": {"call": ["a.b"], "inside": {"forwards": True}}},
            "detect.pattern.inside.forwards: unknown key; did you mean 'forward'?",
        ),
        ({"pattern": {"call": "a.b"}}, "detect.pattern.call: must be an array, not 'a.b'; write [a.b]"),
        ({"pattern": {"call": ["a.b"], "lacks": ["close"]}}, "detect.pattern.lacks: goes with class, not with call"),
        (
            {"pattern": {"class": ["a.B"], "inside": {"loop": True}}},
            "detect.pattern.inside.loop: goes with call or method or assign, not with class",
        ),
        (
            {"pattern": {"class": ["a.B"], "arguments": {"mode": {"equals": 1}}}},
            "detect.pattern.arguments: goes with call or method, not with class",
        ),
        (
            {"pattern": {"class": ["a.B"], "define": ["x"]}},
            "detect.pattern.define: unknown key; did you mean 'defines'?",
        ),
        ({}, "detect: takes one of detector, pattern and patterns"),
        (
            {"detector": "missing-eval", "pattern": {"call": ["a.b"]}},
            "detect: takes one of detector, pattern and patterns",
        ),
        (
            {"detector": "random-transform", "options": {"random": "a.b"}},
            "detect.options.random: must be an array, not 'a.b'; write [a.b]",
        ),
        (
            {"detector": "loader-option", "options": {"loaders": ["a.b"], "arguments": ["shuffle"]}},
            "detect.options.arguments: must be an object, not ['shuffle']",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_key(tmp_path: Path, detect: object, said: str) -> None:
    found = problems(tmp_path, detect)
    assert any(line.startswith(f"10: {said}") for line in found), found


def test_a_message_names_only_what_the_pattern_fills(tmp_path: Path) -> None:
    (said,) = problems(tmp_path, {"pattern": {"call": ["a.b"], "say": {"why": "so"}}}, "{cal} {why} {value}")
    assert said == "6: message: {cal} is nothing that detect.pattern fills; did you mean 'call'?"


def test_a_detector_reads_what_the_rule_runs_on(tmp_path: Path) -> None:
    (said,) = problems(tmp_path, {"detector": "active-dropout"})
    assert said == "9: runs-on: active-dropout runs on trace, not on python"


def test_a_text_that_yaml_takes_for_something_else_wants_quotes(tmp_path: Path) -> None:
    path = tmp_path / "rule.yaml"
    path.write_text(RULE.replace("title: Silent", "title: off"), encoding="utf-8")
    with pytest.raises(DocumentError, match="must be a string, not False; put it into quotes"):
        load_rule(path)
    path.write_text(RULE.replace("severity: error", "severity: off"), encoding="utf-8")
    with pytest.raises(DocumentError, match="False is none of error, warning, info; put it into quotes"):
        load_rule(path)
    path.write_text(RULE.replace("summary: A rule.", "summary: a rule: ours"), encoding="utf-8")
    with pytest.raises(DocumentError, match="a text that holds ': ' needs quotes"):
        load_rule(path)


def test_an_option_that_is_left_out_has_its_default(tmp_path: Path) -> None:
    path = tmp_path / "rule.yaml"
    detect = {"detector": "random-transform", "options": {"random": ["acme.jitter"], "words": ["jitter"]}}
    path.write_text(RULE.replace("{message}", "found").replace("{detect}", json.dumps(detect)), encoding="utf-8")
    options = load_rule(path).detector_options
    assert (options["random"], options["words"]) == (["acme.jitter"], ["jitter"])
    assert options["loaders"] == ["torch.utils.data.DataLoader"]
    assert (options["deterministic"], options["training-flags"]) == ([], {})


def test_every_detector_of_the_catalogue_is_open_and_documented() -> None:
    for rule in load_rules().values():
        assert rule.detector in detectors(), rule.code
        assert set(rule.detector_options) <= set(detectors()[rule.detector]), rule.code
        assert not list(detect_problems(load_yaml(rule.path))), rule.code
