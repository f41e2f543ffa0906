"""Every example of every rule about lockfiles: what `before.py` is was locked, the checked file is verified."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from modellint.catalog import ActiveRule, Example, Rule, load_rules
from modellint.runtime import Pool, Request
from modellint.runtime.lockfile import Locked, take, verify

pytestmark = pytest.mark.torch
pytest.importorskip("torch")

EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.code}-{'bad' if example.bad else 'good'}-{example.title}")
    for rule in load_rules().values()
    if rule.runs_on == "lockfile"
    for example in sorted(rule.cases, key=lambda example: example.bad)
]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as pool:
        yield pool


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_example_reports_exactly_its_marked_lines(rule: Rule, example: Example, pool: Pool, tmp_path: Path) -> None:
    for name, text in example.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    checked = tmp_path / example.check
    after = checked.read_text(encoding="utf-8")
    checked.write_text(example.files.get("before.py", after), encoding="utf-8")
    rules = {rule.code: ActiveRule.default(rule)}
    request = Request(f"{example.check}:build", example.inputs, root=tmp_path, timeout=60)

    (locked,) = take([request], rules, pool)
    assert locked.fingerprint is not None, locked.problem
    checked.write_text(after, encoding="utf-8")
    entries = {locked.name: Locked(request.target, locked.fingerprint, request.inputs)}
    (verified,) = verify(entries, [request], rules, pool, tmp_path / "modellint.lock")

    found = {(Path(d.filename).relative_to(tmp_path).as_posix(), d.span.start.row) for d in verified.diagnostics}
    assert verified.problem is None
    assert found == example.findings().keys()
