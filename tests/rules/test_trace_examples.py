"""Every example of every rule that runs on traces: exactly the marked lines are reported, by that rule alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from modellint.catalog import ActiveRule, Example, Rule, load_rules
from modellint.diagnostic import Confidence
from modellint.runtime import Pool, Request, trace_targets
from modellint.runtime.probes.names import PROBES

pytestmark = pytest.mark.torch
pytest.importorskip("torch")

EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.code}-{'bad' if example.bad else 'good'}-{example.title}")
    for rule in load_rules().values()
    if rule.runs_on == "trace"
    for example in sorted(rule.cases, key=lambda example: example.bad)
]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as pool:
        yield pool


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_example_reports_exactly_its_marked_lines(rule: Rule, example: Example, pool: Pool, tmp_path: Path) -> None:
    for name, text in example.files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    default = ActiveRule.default(rule)
    active = ActiveRule(rule, default.severity, {**default.options, **example.options})
    probes = tuple(name for name, info in PROBES.items() if info.code == rule.code and info.in_all)
    request = Request(f"{example.check}:build", example.inputs, root=tmp_path, timeout=60, probes=probes)

    (report,) = trace_targets([request], {rule.code: active}, pool=pool)

    shown = [d for d in report.diagnostics if d.confidence is not Confidence.POSSIBLE]
    found = {(Path(d.filename).relative_to(tmp_path).as_posix(), d.span.start.row): d for d in shown}
    wanted = example.findings()
    assert found.keys() == wanted.keys(), report.problem
    for place, severity in wanted.items():
        assert severity in (None, found[place].severity.value)
    assert report.problem is None or rule.code == "ML003"
