"""The models under tests/projects/traced: what must be reported stands in the file, as `# want: CODE`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from modellint.catalog import ActiveRule, load_rules
from modellint.diagnostic import Confidence
from modellint.runtime import Pool, Request, trace_targets

pytestmark = pytest.mark.torch
pytest.importorskip("torch")

FOLDER = Path(__file__).parents[1] / "projects" / "traced"
COUNTED = {f"ML60{digit}" for digit in range(1, 7)}
RULES = {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.enabled}


def _heads(text: str, key: str) -> tuple[str, ...]:
    return tuple(re.findall(rf"^# {key}: (.+)$", text, re.MULTILINE))


def _wanted(text: str) -> set[tuple[int, str]]:
    return {
        (row, code)
        for row, line in enumerate(text.splitlines(), 1)
        if (match := re.search(r"# want: (.+)$", line))
        for code in match[1].split()
    }


def _silent_first(path: Path) -> tuple[bool, str]:
    return bool(_wanted(path.read_text(encoding="utf-8"))), path.stem


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as pool:
        yield pool


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.stem) for path in sorted(FOLDER.glob("*.py"), key=_silent_first)]
)
def test_model_is_reported_on_its_marked_lines_and_nowhere_else(path: Path, pool: Pool) -> None:
    text = path.read_text(encoding="utf-8")
    words = shlex.split(" ".join(_heads(text, "options")))
    options = dict(zip(words[::2], words[1::2], strict=True))
    request = Request(
        f"{path.name}:build",
        _heads(text, "input"),
        mode=options.get("--mode", "as-is"),
        method=options.get("--method"),
        timeout=float(options.get("--timeout", 120)),
        root=FOLDER,
    )

    (report,) = trace_targets([request], RULES, pool=pool)

    if _heads(text, "status"):
        assert report.problem
        assert "\n" not in report.problem
        return
    assert report.problem is None
    found = {
        (diagnostic.span.start.row, diagnostic.code)
        for diagnostic in report.diagnostics
        if diagnostic.code in COUNTED and diagnostic.confidence is not Confidence.POSSIBLE
    }
    assert found == _wanted(text)
    assert all(Path(diagnostic.filename) == path for diagnostic in report.diagnostics)


def test_twelve_modules_on_one_line_are_one_finding_with_a_count(pool: Pool) -> None:
    request = Request("many_layers.py:build", ("float32[2,8]",), root=FOLDER)

    (report,) = trace_targets([request], RULES, pool=pool)

    (finding,) = report.diagnostics
    assert "12 modules: 0..11.drop" in finding.message
    assert finding.runtime is not None
    assert finding.runtime.evidence["count"] == 12
    assert finding.runtime.evidence["p"] == 0.1
    assert finding.runtime.module_type == "torch.nn.modules.dropout.Dropout"
