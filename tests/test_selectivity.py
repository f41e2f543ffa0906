"""No rule opens more than 35 % of the files of a large library without a reason: torch itself, which is at hand."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "selectivity.py"


@pytest.fixture(scope="module")
def selectivity() -> ModuleType:
    spec = importlib.util.spec_from_file_location("selectivity", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["selectivity"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def corpus() -> list[bytes]:
    spec = importlib.util.find_spec("torch")  # its files are read, nothing is imported
    if spec is None or spec.origin is None:
        pytest.skip("torch is not installed")
    return [path.read_bytes() for path in sorted(Path(spec.origin).parent.rglob("*.py"))]


def test_every_rule_waits_for_words_that_are_rare_enough(selectivity: ModuleType, corpus: list[bytes]) -> None:
    found = selectivity.shares(corpus)
    assert selectivity.refused(found) == {}
    assert 0 < found["ML306"] < found["ML101"] < found["all"]


def test_a_rule_that_opens_half_of_the_files_needs_a_reason(selectivity: ModuleType) -> None:
    assert selectivity.refused({"ML101": 0.9, "ML102": 0.5, "ML103": 0.2, "all": 1.0}) == {"ML102": 0.5}
